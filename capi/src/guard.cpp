// This thread's last message.  A key of pthreads, not a thread_local: the first touch of a thread_local of a library
// that was opened with dlopen() allocates, and glibc ends the process where that allocation fails.
#include "guard.hpp"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mixtura::capi {
namespace {

constexpr std::size_t kBytesMax = 4000;

struct Message {
    char text[kBytesMax + 1];
};

const char kNoMemory[] = "memory ran out, also for saying where";

void free_message(void* message) noexcept {
    if (message != kNoMemory) std::free(message);
}

class Key {
  public:
    Key() noexcept : is_there_(pthread_key_create(&key_, free_message) == 0) {}
    ~Key() {
        // A library that is unloaded takes the key with it: its destructor function is about to go.
        if (!is_there_) return;
        free_message(pthread_getspecific(key_));
        pthread_key_delete(key_);
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

    void* get() const noexcept { return is_there_ ? pthread_getspecific(key_) : nullptr; }
    bool set(const void* message) const noexcept { return is_there_ && pthread_setspecific(key_, message) == 0; }

  private:
    pthread_key_t key_ = {};
    bool is_there_ = false;
};

const Key& key() noexcept {
    static const Key one;
    return one;
}

}  // namespace

mixtura_status report(StatusCode code, std::string_view message) noexcept {
    void* kept = key().get();
    if (kept == nullptr || kept == kNoMemory) {
        void* fresh = std::malloc(sizeof(Message));
        if (fresh != nullptr && key().set(fresh)) {
            kept = fresh;
        } else {
            std::free(fresh);
            (void)key().set(kNoMemory);
            return static_cast<mixtura_status>(code);
        }
    }
    std::size_t size = message.size();
    if (size > kBytesMax) {  // cut where a character begins
        size = kBytesMax;
        while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0U) == 0x80U) --size;
    }
    char* text = static_cast<Message*>(kept)->text;
    std::memcpy(text, message.data(), size);
    text[size] = '\0';
    return static_cast<mixtura_status>(code);
}

}  // namespace mixtura::capi

extern "C" {

const char* mixtura_last_error_message(void) noexcept {
    const void* kept = mixtura::capi::key().get();
    return kept == nullptr ? "" : static_cast<const char*>(kept);
}

const char* mixtura_status_name(mixtura_status status) noexcept {
    return mixtura::status_name(static_cast<mixtura::StatusCode>(status)).data();
}

}  // extern "C"
