#include <mixtura/status.hpp>

namespace mixtura {

std::string_view status_name(StatusCode code) noexcept {
    switch (code) {
        case StatusCode::ok: return "OK";
        case StatusCode::end_of_stream: return "END_OF_STREAM";
        case StatusCode::would_block: return "WOULD_BLOCK";
        case StatusCode::internal: return "INTERNAL";
        case StatusCode::out_of_host_memory: return "OUT_OF_HOST_MEMORY";
        case StatusCode::out_of_device_memory: return "OUT_OF_DEVICE_MEMORY";
        case StatusCode::budget_exceeded: return "BUDGET_EXCEEDED";
        case StatusCode::invalid_argument: return "INVALID_ARGUMENT";
        case StatusCode::out_of_range: return "OUT_OF_RANGE";
        case StatusCode::buffer_too_small: return "BUFFER_TOO_SMALL";
        case StatusCode::unsupported: return "UNSUPPORTED";
        case StatusCode::version_mismatch: return "VERSION_MISMATCH";
        case StatusCode::io: return "IO";
        case StatusCode::not_found: return "NOT_FOUND";
        case StatusCode::corrupt_file: return "CORRUPT_FILE";
        case StatusCode::unknown_format: return "UNKNOWN_FORMAT";
        case StatusCode::unknown_architecture: return "UNKNOWN_ARCHITECTURE";
        case StatusCode::bad_state: return "BAD_STATE";
        case StatusCode::cancelled: return "CANCELLED";
        case StatusCode::callback_stopped: return "CALLBACK_STOPPED";
        case StatusCode::timeout: return "TIMEOUT";
        case StatusCode::device: return "DEVICE";
        case StatusCode::device_lost: return "DEVICE_LOST";
        case StatusCode::no_backend: return "NO_BACKEND";
        case StatusCode::comm: return "COMM";
        case StatusCode::peer_lost: return "PEER_LOST";
    }
    return "UNKNOWN";
}

}  // namespace mixtura
