#include "low/ground.h"
