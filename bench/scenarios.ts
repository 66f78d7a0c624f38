/** What is asked of the servers, and what each answer must be. */
import { type Dialect, session, stateless } from './dialects.ts'
import { listed, type Request, type Result, said } from './servers/wire.ts'

export type Scenario = {
  readonly name: string
  /** The dialects in which it makes sense. */
  readonly dialects: readonly Dialect[]
  /** How many clients take turns. */
  readonly clients: number
  /** In one round. */
  readonly operations: number
  /** @param number counts the operations of a round, from 0 */
  request(number: number): Request
  /** What the request must be answered with, to the last member. */
  result(number: number): Result
}

/** Never the same twice in a round, so that an answer cannot be another request's. */
const textOf = (number: number) => `message ${number}`

export const echo = {
  request: (number: number) => ({
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: textOf(number) } },
  }),
  result: (number: number) => said(textOf(number)),
}

export const scenarios: readonly Scenario[] = [
  { name: 'echo', dialects: [stateless, session], clients: 1, operations: 7000, ...echo },
  {
    name: 'tools/list',
    dialects: [stateless, session],
    clients: 1,
    operations: 3500,
    request: () => ({ method: 'tools/list', params: {} }),
    result: () => listed,
  },
  { name: 'echo, 50 sessions', dialects: [session], clients: 50, operations: 3500, ...echo },
]
