#include "policy/mpi/redirect.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace espalier::policy {

namespace {

#if __ELF_NATIVE_CLASS == 64

struct Search {
  const char* library;
  std::span<const Redirection> redirections;
  Variables found;
};

// What the dynamic section says of a library.
struct Tables {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  struct Entries {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  };
  Entries calls, data;  // addresses used by calls only, and by anything
  bool with_addends = true;
};

Tables tables_of(const dl_phdr_info& library, const ElfW(Dyn) * entry) {
  // glibc has added where the library was loaded; others have not.
  const auto at = [&](ElfW(Addr) address) {
    return address < library.dlpi_addr ? library.dlpi_addr + address : address;
  };
  Tables tables;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(at(value));
        break;
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at(value));
        break;
      case DT_JMPREL:
        tables.calls.first = reinterpret_cast<const ElfW(Rela)*>(at(value));
        break;
      case DT_PLTRELSZ:
        tables.calls.bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        tables.data.first = reinterpret_cast<const ElfW(Rela)*>(at(value));
        break;
      case DT_RELASZ:
        tables.data.bytes = entry->d_un.d_val;
        break;
      case DT_PLTREL:
        tables.with_addends = entry->d_un.d_val == DT_RELA;
        break;
      default:
        break;
    }
  }
  return tables;
}

// Those that are fixed once the library is loaded are in pages that cannot be written.
bool write_address(void** entry, void* address, bool fixed) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(entry) / page * page);
  if (fixed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*entry).store(address);
  if (fixed) mprotect(start, page, PROT_READ);
  return true;
}

bool redirect(const dl_phdr_info& library, const Tables& tables, Tables::Entries entries,
              const Variables& fixed, std::span<const Redirection> redirections) {
  bool any = false;
  for (std::size_t i = 0; i < entries.bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& entry = entries.first[i];
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(entry.r_info)];
    if (entry.r_addend != 0 || symbol.st_shndx != SHN_UNDEF) continue;
    auto** const address = reinterpret_cast<void**>(library.dlpi_addr + entry.r_offset);
    for (const Redirection& each : redirections)
      if (std::strcmp(tables.names + symbol.st_name, each.function) == 0)
        any |= write_address(address, each.replacement, fixed.has(address));
  }
  return any;
}

int visit(dl_phdr_info* library, std::size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const char* const slash = std::strrchr(library->dlpi_name, '/');
  const char* const file = slash != nullptr ? slash + 1 : library->dlpi_name;
  if (std::strstr(file, search.library) == nullptr) return 0;
  const ElfW(Dyn)* dynamic = nullptr;
  Variables variables, fixed;
  for (const ElfW(Phdr) & part : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
    const auto* const first =
        reinterpret_cast<const std::byte*>(library->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(first);
    if (part.p_type == PT_GNU_RELRO) fixed = {first, first + part.p_memsz};
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0)
      variables = {first, first + part.p_memsz};
  }
  if (dynamic == nullptr) return 0;
  const Tables tables = tables_of(*library, dynamic);
  if (tables.names == nullptr || tables.symbols == nullptr || !tables.with_addends)
    return 0;
  const bool calls = redirect(*library, tables, tables.calls, fixed, search.redirections);
  const bool data = redirect(*library, tables, tables.data, fixed, search.redirections);
  if (!calls && !data) return 0;
  search.found = variables;
  return 1;
}

#endif

}  // namespace

Variables redirect_calls(const char* library, std::span<const Redirection> redirections) {
#if __ELF_NATIVE_CLASS == 64
  Search search{library, redirections, {}};
  dl_iterate_phdr(visit, &search);
  return search.found;
#else
  (void)library, (void)redirections;
  return {};
#endif
}

}  // namespace espalier::policy
