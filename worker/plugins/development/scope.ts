/** Finds out which run of a handler some work belongs to, while other runs proceed at the same time. */
import { type Called, trace } from './trace.ts'

export interface Scope<T> {
  /** Runs work for a value, including all that it awaits. */
  run<R>(value: T, work: () => R | Promise<R>): Promise<R>
  /** Returns the value of the running work. @param from the function that asks */
  get(from: Called): T | undefined
}

type Storage<T> = { run<R>(value: T, work: () => R): R; getStore(): T | undefined }

/**
 * Uses the `AsyncLocalStorage` of the platform if it exists: from some compatibility date on, or with `nodejs_compat`. Otherwise reads the
 * stack, which ends at timers and events: work after these has no value. Neither assigns work to another value.
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

/** Runs work under a name that is visible in stacks, also after an `await`. */
function marked<R>(number: number, work: () => R | Promise<R>): () => Promise<R> {
  const name = `edgemcp_run_${number}`
  const named = { [name]: async () => await work() }
  // It was put there a line before.
  return named[name] as () => Promise<R>
}

/** Whether a line of a stack is the start of a scope's work. */
export const isMark = (line: string): boolean => markPattern.test(line)
