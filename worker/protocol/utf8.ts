const encoder = new TextEncoder()

/** @see https://encoding.spec.whatwg.org/#interface-textencoder */
export const utf8 = (text: string) => encoder.encode(text)
