/** edgemcp/testing/timed: Wrap a Worker so that a test in Node.js can move its clock. Never deploy it. */
import { DurableObject, exports } from 'cloudflare:workers'
import { messageOf } from '../../protocol/errors.ts'
import { type Alarmed, pass, takeOver, translate } from '../clock.ts'
import { type Advance, advancePath } from './advance.ts'

type Fetching = { fetch?(request: Request, env: never, ctx: never): Response | Promise<Response> }
type ObjectClass = new (ctx: DurableObjectState, env: never) => DurableObject<never>

/**
 * Wraps a Worker so that `server.advance()` of a test can move its clock.
 *
 * @param main all exports of the module of the Worker: `import * as main from './index.ts'`
 * @throws Error where `NODE_ENV` is `production`, as in a bundle of `wrangler deploy`, because every client could move the clock, and for exports
 * without a default object
 *
 * @example
 * import * as main from './index.ts'
 *
 * const worker = withTestClock(main)
 * export default worker.default
 * export const { McpSession } = worker
 */
export function withTestClock<M extends { default: object }>(main: M): M {
  // `wrangler deploy` puts "production" here.
  if (globalThis.process?.env?.NODE_ENV === 'production') {
    throw new Error(
      'withTestClock() is for tests: any client could advance the clock of this Worker. Deploy the Worker without it',
    )
  }
  if (typeof main.default !== 'object') {
    throw new Error(
      'withTestClock() takes the exports of a Worker whose default export is an object with fetch, such as the result of serve()',
    )
  }
  takeOver()
  const others = Object.entries(main).map(([name, exported]) => [
    name,
    isObject(exported) ? alarming(exported) : exported,
  ])
  const worker = main.default as Fetching // an entrypoint's fetch is optional, and has this type
  const fetch: Fetching['fetch'] = async (request, env, ctx) => {
    if (new URL(request.url).pathname === advancePath) return advance(await request.json())
    return worker.fetch?.(request, env, ctx) ?? new Response('This Worker has no fetch', { status: 404 })
  }
  // Each export is what it was, and a little more.
  return { ...Object.fromEntries(others), default: { ...main.default, fetch } } as M
}

const isObject = (exported: unknown): exported is ObjectClass =>
  typeof exported === 'function' && exported.prototype instanceof DurableObject

/** Adds the methods that `advance` calls to a Durable Object class. */
const alarming = (Plain: ObjectClass): ObjectClass =>
  class extends Plain {
    constructor(ctx: DurableObjectState, env: never) {
      translate(ctx.storage)
      super(ctx, env)
    }

    testingAlarm(): Promise<number | null> {
      return this.ctx.storage.getAlarm()
    }

    testingSetAlarm(time: number): Promise<void> {
      return this.ctx.storage.setAlarm(time)
    }

    async testingRing(): Promise<void> {
      if ((await this.ctx.storage.getAlarm()) === null) return
      await this.ctx.storage.deleteAlarm()
      await this.alarm?.({ retryCount: 0, isRetry: false, scheduledTime: Date.now() })
    }
  }

type Stub = {
  testingAlarm(): Promise<number | null>
  testingSetAlarm(time: number): Promise<void>
  testingRing(): Promise<void>
}

async function advance({ milliseconds, objects }: Advance): Promise<Response> {
  const all = objects.map(({ class: name, id }): Alarmed => {
    // Each class that the client found in storage is an export of this Worker.
    const namespace = (exports as unknown as Record<string, DurableObjectNamespace>)[name] as DurableObjectNamespace
    // Each exported class was made by alarming().
    const stub = namespace.get(namespace.idFromString(id)) as unknown as Stub
    return {
      alarm: () => stub.testingAlarm(),
      setAlarm: (time) => stub.testingSetAlarm(time),
      ring: () => stub.testingRing(),
    }
  })
  try {
    await pass(milliseconds, async () => all)
    return Response.json({})
  } catch (problem) {
    return Response.json({ problem: messageOf(problem) })
  }
}
