await Promise.reject(new TypeError("rejected at load"));
