#include "option_helpers.hpp"

#include "rueda/core/error.hpp"

namespace rueda {

CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& placeholder,
                        const std::string& description, const std::string& present,
                        const std::function<void(const std::string&)>& set) {
  const auto take = [name, set](const std::string& text) {
    try {
      set(text);
    } catch (const InputError& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  const std::string shown = present.empty() ? "" : " [" + present + "]";
  return app.add_option_function<std::string>(name, take, description + shown)
      ->option_text(placeholder);
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& placeholder, const std::string& description) {
  return add_parsed(app, name, placeholder, description, value,
                    [&value](const std::string& text) { value = text; });
}

CLI::Option* add_words(CLI::App& app, const std::string& name, std::string& value,
                       const std::vector<const char*>& words, const std::string& description) {
  return add_parsed(app, name, joined(words, "|"), description, value,
                    [&value, words](const std::string& text) {
                      parse_word(words, text);
                      value = text;
                    });
}

}  // namespace rueda
