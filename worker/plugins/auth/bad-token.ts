/** A token is invalid. The message is a sentence for the client, and becomes a 401 with `error="invalid_token"`. */
export class BadToken extends Error {}
