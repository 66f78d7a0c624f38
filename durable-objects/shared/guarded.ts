/**
 * Returns a part of a storage that reports each error of its methods, before it throws it. Whoever catches the error, as a handler may, the
 * rest of the turn is neither written nor remembered, if `onRefused` ends the instance of the object.
 */
export function guarded<T extends object>(storage: T, onRefused: (problem: unknown) => void): T {
  const methods = new WeakMap<object, unknown>()
  return new Proxy(storage, {
    get(_, key) {
      const member = Reflect.get(storage, key)
      if (typeof member !== 'function') return member
      const known = methods.get(member)
      if (known) return known
      const method = (...args: unknown[]) => {
        try {
          return Reflect.apply(member, storage, args)
        } catch (problem) {
          onRefused(problem)
          throw problem
        }
      }
      methods.set(member, method)
      return method
    },
  })
}
