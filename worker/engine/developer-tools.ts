/** What plugins answer to `?inside=<name>` in development: a response, or JSON. A POST may change something. */
// biome-ignore lint/style/noRestrictedGlobals: a type; the Worker hands the value in
export const developerTools = new Map<string, (request: Request) => Promise<unknown>>()

/** Counts what has happened since the Worker started, and is not an answer to the inspector: it asks again when the count changes. */
export const developerNews = { count: 0 }
