// The archive half of npy.hpp: a .npz file is a zip archive of .npy files.

#include "npy.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <memory>

namespace cohom::bench {
namespace {

constexpr std::string_view preferred_member = "gradients.npy";

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

Archive open_archive(const std::filesystem::path& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw InputError(fmt::format("{}: truncated or damaged .npz archive: {}", path.string(), reason));
}

zip_uint64_t choose_member(zip_t* archive, const std::string& name) {
  const zip_int64_t members = zip_get_num_entries(archive, 0);
  const zip_int64_t preferred = zip_name_locate(archive, preferred_member.data(), 0);
  if (preferred >= 0) return static_cast<zip_uint64_t>(preferred);
  if (members == 1) return 0;
  std::string found;
  for (zip_int64_t i = 0; i < members; ++i)
    found += fmt::format("{}{}", i == 0 ? "" : ", ",
                         zip_get_name(archive, static_cast<zip_uint64_t>(i), 0));
  throw InputError(
      fmt::format("{}: has {} members ({}); it should have one, or one called gradients", name,
                  members, found));
}

}  // namespace

std::vector<std::byte> read_npz_member(const std::filesystem::path& path, std::string& name) {
  const Archive archive = open_archive(path);
  const zip_uint64_t index = choose_member(archive.get(), name);
  zip_stat_t info;
  if (zip_stat_index(archive.get(), index, 0, &info) != 0 || (info.valid & ZIP_STAT_SIZE) == 0)
    throw InputError(name + ": damaged .npz archive: " + zip_strerror(archive.get()));
  name += fmt::format("[{}]", info.name);

  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive.get(), index, 0));
  if (!file) throw InputError(name + ": cannot be unpacked: " + zip_strerror(archive.get()));
  // What NumPy writes, which also says how much a size may claim: memory is taken for it.
  constexpr zip_uint64_t max_ratio_of_deflate = 1032;  // times as long as it was
  if ((info.valid & ZIP_STAT_COMP_SIZE) == 0 || (info.valid & ZIP_STAT_COMP_METHOD) == 0 ||
      (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE))
    throw InputError(name + ": is packed by another method than stored or deflated");
  if (info.size / max_ratio_of_deflate > info.comp_size)
    throw InputError(fmt::format("{}: damaged .npz archive: {} bytes cannot become {}", name,
                                 info.comp_size, info.size));
  std::vector<std::byte> content(info.size);
  // libzip checks the member's CRC on the read that meets its end, so one more read must give 0.
  const zip_int64_t bytes = zip_fread(file.get(), content.data(), content.size());
  std::byte beyond{};
  if (bytes != static_cast<zip_int64_t>(content.size()) || zip_fread(file.get(), &beyond, 1) != 0)
    throw InputError(name + ": damaged .npz archive: " + zip_file_strerror(file.get()));
  return content;
}

}  // namespace cohom::bench
