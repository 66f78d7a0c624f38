/** The requests to the servers, and the expected responses. */
import { type Dialect, session, stateless } from './dialects.ts'
import { listed, type Request, type Result, said } from './servers/wire.ts'

export type Scenario = {
  readonly name: string
  /** The dialects that support it. */
  readonly dialects: readonly Dialect[]
  /** The number of clients that take turns. */
  readonly clients: number
  /** Operations in one round. */
  readonly operations: number
  /** @param number counts the operations of a round, from 0 */
  request(number: number): Request
  /** The complete expected result. */
  result(number: number): Result
}

/** Differs for each operation of a round, so that a response cannot belong to another request. */
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
