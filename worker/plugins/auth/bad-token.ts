/** What is wrong with a token, in a sentence for the client that sent it. It becomes a 401 with `error="invalid_token"`. */
export class BadToken extends Error {}
