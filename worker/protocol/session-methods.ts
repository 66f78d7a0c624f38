/** Methods that change a session, and mean nothing without one. */
const sessionMethods: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

export const needsSession = (method: string): boolean => sessionMethods.has(method)
