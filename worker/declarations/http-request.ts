/** Describes the HTTP request of a call. */
export interface HttpRequest {
  /** The HTTP method: `POST`, for all calls. */
  readonly method: string
  /** The URL that the client requested. */
  readonly url: string
  /**
   * The headers that the client sent. If the endpoint has `auth`, without `Authorization`, `DPoP` and the `credentialHeaders` of the auth. Others
   * may contain credentials: do not log or store them.
   */
  // biome-ignore lint/style/noRestrictedGlobals: a type; the Worker hands the value in
  readonly headers: Headers
  /** The IP address of the client; `undefined` if the platform does not provide it. */
  readonly address: string | undefined
}
