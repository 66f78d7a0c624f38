/** Tells whose work it is that is going on, in spite of everything else that goes on at the same time. */
import { type Called, trace } from './trace.ts'

export interface Scope<T> {
  /** Everything that the work does and awaits belongs to the value. */
  run<R>(value: T, work: () => R | Promise<R>): Promise<R>
  /** @param from what asks: a function that is being called */
  get(from: Called): T | undefined
}

type Storage<T> = { run<R>(value: T, work: () => R): R; getStore(): T | undefined }

/**
 * Follows the platform's own contexts where there are any: from some compatibility date on, or with `nodejs_compat`. Elsewhere it
 * reads the stack, which ends at timers and events: what they call belongs to nobody. Neither takes the work of one for that of
 * another.
 */
export function scope<T>(): Scope<T> {
  const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')
  return hooks?.AsyncLocalStorage ? scopeOfContexts(new hooks.AsyncLocalStorage()) : scopeOfStacks()
}

const scopeOfContexts = <T>(storage: Storage<T>): Scope<T> => ({
  run: (value, work) => storage.run(value, marked(0, work)),
  get: () => storage.getStore(),
})

function scopeOfStacks<T>(): Scope<T> {
  const values = new Map<string, T>()
  let last = 0
  return {
    run(value, work) {
      last += 1
      values.set(String(last), value)
      // A handler that waits for a person never ends, and is not worth remembering for long.
      values.delete(String(last - mostRuns))
      return marked(last, work)()
    },
    get(from) {
      const [, number] = markPattern.exec(trace(from).find(isMark) ?? '') ?? []
      return number === undefined ? undefined : values.get(number)
    },
  }
}

const mostRuns = 1000
const markPattern = /\bedgemcp_run_(\d+)\b/

/** Work under a name that is seen in stacks, however far away it awaits. */
function marked<R>(number: number, work: () => R | Promise<R>): () => Promise<R> {
  const name = `edgemcp_run_${number}`
  const named = { [name]: async () => await work() }
  // It was put there a line before.
  return named[name] as () => Promise<R>
}

/** Is this line of a stack where a scope's work was started? */
export const isMark = (line: string): boolean => markPattern.test(line)
