#include "statement.hpp"

#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace cohom::ptx {
namespace {

using Kind = Statement::Kind;

class Cutter {
 public:
  Cutter(std::string_view text, std::uint32_t first_line) : text_(text), line_(first_line) {}

  std::vector<Statement> cut() && {
    while (at_ < text_.size())
      if (!skip_comment() && !take_line_directive()) take_character();
    return std::move(all_);
  }

 private:
  [[nodiscard]] bool begins(std::string_view word) const {
    return text_.substr(at_).starts_with(word);
  }
  /// Goes on to a place, and counts lines on the way.
  void go_to(std::size_t place) {
    place = std::min(place, text_.size());
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + std::ptrdiff_t(at_),
                                                   text_.begin() + std::ptrdiff_t(place), '\n'));
    at_ = place;
  }
  void put(Kind kind) {
    all_.push_back({kind, trimmed(pending_), start_, source_file_, source_line_});
    pending_.clear();
    fresh_ = true;
  }

  bool skip_comment() {
    if (begins("//")) {
      go_to(text_.find('\n', at_));
      return true;
    }
    if (!begins("/*")) return false;
    const std::size_t end = text_.find("*/", at_);
    go_to(end == std::string::npos ? end : end + 2);
    return true;
  }

  /// Directives that end with their line, or, as .section, are of no interest.
  bool take_line_directive() {
    if (!fresh_ || text_[at_] != '.') return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    const std::vector<std::string> words = words_of(line);
    if (words[0] == ".loc" && words.size() > 2) {
      source_file_ = static_cast<std::uint32_t>(number_in(words[1]).value_or(0));
      source_line_ = static_cast<std::uint32_t>(number_in(words[2]).value_or(0));
    } else if (words[0] == ".file") {
      all_.push_back({Kind::file, std::string(line), line_, 0, 0});
    } else if (words[0] == ".section") {
      const std::size_t close = text_.find('}', at_);
      go_to(close == std::string::npos ? close : close + 1);
      return true;
    } else if (words[0] != ".version" && words[0] != ".target" && words[0] != ".address_size") {
      return false;
    }
    go_to(end);
    return true;
  }

  [[nodiscard]] bool is_header() const {
    return nested_ == 0 && pending_.find('=') == std::string::npos &&
           (pending_.find(".entry") != std::string::npos ||
            pending_.find(".func") != std::string::npos);
  }

  void take_character() {
    const char c = text_[at_];
    if (fresh_ && std::isspace(static_cast<unsigned char>(c)) == 0) start_ = line_;
    if (c == ';') {
      put(Kind::simple);
    } else if (begins("::")) {  // of "ld.shared::cta", behind no label
      pending_ += c;
      go_to(at_ + 1);
      pending_ += c;
    } else if (c == ':' && nested_ == 0 && pending_.find('(') == std::string::npos) {
      put(Kind::label);
    } else if (c == '{') {
      open_brace();
    } else if (c == '}') {
      close_brace();
    } else {
      pending_ += c;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) fresh_ = false;
    }
    go_to(at_ + 1);
  }
  void open_brace() {
    if (fresh_) return put(Kind::open);
    if (is_header()) {
      put(Kind::header);
      return put(Kind::open);
    }
    ++nested_;  // of a vector or a list of values
    pending_ += '{';
  }
  void close_brace() {
    if (fresh_) return put(Kind::close);
    --nested_;
    pending_ += '}';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_, start_ = 0, source_file_ = 0, source_line_ = 0;
  std::string pending_;
  bool fresh_ = true;  ///< nothing of the next statement has come
  int nested_ = 0;
  std::vector<Statement> all_;
};

}  // namespace

std::vector<Statement> statements_of(std::string_view text, std::uint32_t first_line) {
  return Cutter(text, first_line).cut();
}

}  // namespace cohom::ptx
