#include "high/roof.h"
