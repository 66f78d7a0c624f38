/** What the two ends of a feed say when they close it. Any other code means that the other end was lost. */
export const feedClosed = {
  /** Everything has been sent. */
  complete: 1000,
  /** The client is to come back for the rest. */
  released: 4001,
  /** Another feed has taken this one's place. */
  replaced: 4002,
} as const

/** There is more: the Worker dials again, from where it was, when its client has read. */
export const feedRests = 4003

/** What the Worker says when its client has gone. */
export const clientGone = 4000
