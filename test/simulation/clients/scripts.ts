/** The scripts of clients, by kind. Each starts its clients, and says what must be true. */
import type { World } from '../world.ts'
import { callers } from './callers.ts'
import { calls } from './calls.ts'
import { drafts, taskManagers } from './drafts.ts'
import { eventSubscribers } from './events.ts'
import { httpSse } from './http-sse.ts'
import { cancellers, interviews } from './interviews.ts'
import { keyOwners } from './key-owners.ts'
import { largeCalls } from './large-calls.ts'
import { readers } from './readers.ts'
import { signIns } from './sign-ins.ts'
import { silent } from './silent.ts'
import { shoppers, spenders, visitors } from './state.ts'
import { listeners, statelessCalls, statelessTasks } from './stateless-calls.ts'
import { listReaders, subscribers } from './subscribers.ts'
import { taskOwners } from './task-owners.ts'

export type Script = (world: World) => void

export const scripts: Readonly<Record<string, Script>> = {
  calls: (world) => calls(world, false),
  questions: (world) => calls(world, true),
  subscribers,
  tasks: taskOwners,
  silent,
  'HTTP+SSE': httpSse,
  'stateless calls': statelessCalls,
  listeners,
  visitors,
  shoppers,
  spenders,
  'stateless tasks': statelessTasks,
  interviews,
  cancellers,
  'task managers': taskManagers,
  drafts,
  'list readers': listReaders,
  'large calls': largeCalls,
}

/** Clients of the server with sign-in and API keys. */
export const identityScripts: Readonly<Record<string, Script>> = {
  'sign-ins': signIns,
  'key owners': keyOwners,
  callers,
  readers,
  'event subscribers': eventSubscribers,
}
