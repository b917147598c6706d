/** As in a browser that lets this site store nothing. */
navigator.locks.request = () => Promise.reject(new DOMException("denied", "SecurityError"));
