/** How long sessions of this server live without a request, in milliseconds. */
export const ttl = 20_000
