/**
 * Upper bounds on what a client sends, each with its unit. Every field is measured before the scopes of a token are compared, a handler
 * runs or a Durable Object is called. `limits` of `serve()` bounds bodies, nesting and batches. docs/reference/limits.md lists all bounds,
 * and a test compares that list.
 *
 * Characters are UTF-16 code units, as `length` counts them. JSON is measured as `JSON.stringify` writes it.
 */

/** A request id, a progress token, the request id of a cancellation. */
export const idCharacters = 1024

/** The name of a method. */
export const methodCharacters = 256

/** The name of a tool, a prompt, an argument or an input request. */
export const nameCharacters = 1024

/** A URI or a URI template. */
export const uriCharacters = 8 * 1024

/** A position in a list. It holds a sealed name or URI. */
export const cursorCharacters = 32 * 1024

/** A sealed request state: up to 64 Ki characters of three bytes each, in base64url. */
export const requestStateCharacters = 384 * 1024

/** A task id. */
export const taskIdCharacters = 1024

/** The handle of a state. */
export const handleCharacters = 4 * 1024

/** A protocol version, in a header or a message. */
export const versionCharacters = 64

/** A log level. */
export const levelCharacters = 32

/** `_meta` of one message, as JSON. */
export const metaCharacters = 64 * 1024

/** The part of `initialize` that is sealed into a session id, as JSON in UTF-8. Clients reject responses with 16 KB of headers. */
export const handshakeBytes = 4096

/** The text typed so far, in `completion/complete`. */
export const completionCharacters = 8 * 1024

/** Entries of `context.arguments`, of `completion/complete`. */
export const completionArguments = 100

/** Values in the result of one completion. The specification states this one. */
export const completionValues = 100

/** Entries of `inputResponses`. */
export const inputResponses = 100

/** One input response, as JSON. */
export const inputResponseCharacters = 1024 * 1024

/** Roots in a response to `roots/list`. */
export const roots = 1000

/** URIs in a filter of `subscriptions/listen`. */
export const filterUris = 100

/** Task ids in a filter of `subscriptions/listen`. */
export const filterTaskIds = 100

/** All URIs of a filter together, percent-encoded. */
export const filterCharacters = 6 * 1024

/** The topics of a stream of changes: URIs and tasks. The attachment of a socket holds 16,384 bytes. */
export const topicBytes = 12 * 1024

/** Resources that one session subscribes to. */
export const sessionSubscriptions = 1000

/** URIs that one session subscribes to, together, percent-encoded. */
export const sessionSubscriptionCharacters = 256 * 1024

/** The header `Mcp-Session-Id`, and `session` in the query of HTTP+SSE. */
export const sessionIdCharacters = 8 * 1024

/** The header `Last-Event-ID`. */
export const eventIdCharacters = 64

/** The headers `Accept`, `Content-Type` and `Access-Control-Request-Headers`. */
export const headerCharacters = 4 * 1024
