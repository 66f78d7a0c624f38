/** Errors as the answers of a client, to questions that are open and to questions that nobody asked. */
import { events } from '../../../worker/client/wire.ts'
import type { LeakyServer } from './server.ts'
import { type Incoming, messagesOf, readUntil, Visitor } from './visitor.ts'

const error = { code: -1, message: 'The person has gone' }

/**
 * Sends so many to one session, half of which answer a question.
 *
 * @throws Error when one is not taken for what it is, or leaves something behind
 */
export async function refuse(server: LeakyServer, count: number): Promise<void> {
  const visitor = await Visitor.arrive(server.url)
  const name = await server.objectOf(visitor.session)
  const atOnce = 10
  for (let sent = 0; sent < count; sent += 2 * atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => refuseOne(visitor, sent + index)))
  }
  const { sockets, tables } = await server.session(name, { alone: true })
  const [isOpen, { calls, questions, streams }] = [(await server.openStreams(name)) > 0, tables]
  // A finished stream can be resumed for a while: one for each call, and none for what only answers.
  if (sockets > 0 || isOpen || calls !== 0 || questions !== 0 || streams !== count / 2) {
    throw new Error(`Refusals left ${JSON.stringify({ sockets, isOpen, tables })}`)
  }
}

/** Ids that nobody asked with. */
const strangers = (number: number): unknown[] => [`ask-${1_000_000 + number}`, `other-${number}`, number, null]

async function refuseOne(visitor: Visitor, number: number): Promise<void> {
  const stream = events(await visitor.call('ask'))
  const { id } = await readUntil(stream, ({ method }) => method === 'elicitation/create')
  await refuseId(visitor, strangers(number)[number % 4])
  await refuseId(visitor, id)
  const rest: Incoming[] = []
  for await (const { data } of stream) rest.push(JSON.parse(data))
  const [answer] = rest
  if (rest.length !== 1 || !answer || !('error' in answer || 'result' in answer)) {
    throw new Error(`The stream of a refused question went on with ${JSON.stringify(rest)}`)
  }
}

async function refuseId(visitor: Visitor, id: unknown): Promise<void> {
  const response = await visitor.post({ id, error })
  const said = await messagesOf(response)
  if (response.status !== 202 || said.length > 0) {
    throw new Error(`An error with the id ${JSON.stringify(id)} was answered with ${response.status}`)
  }
}
