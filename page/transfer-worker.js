// Takes a buffer and answers at once with its size: what lies between is the price of the journey.
self.onmessage = ({ data }) => {
  self.postMessage(data.byteLength);
};
