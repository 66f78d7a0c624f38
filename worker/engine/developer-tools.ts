/** What plugins answer to `?inside=<name>` in development, as JSON. A POST may change something. */
export const developerTools = new Map<string, (request: DeveloperRequest) => Promise<unknown>>()

export type DeveloperRequest = { readonly method: string; readonly url: string }
