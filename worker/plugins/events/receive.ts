/** Receives webhooks for the inspector, whose page verifies their signatures. In development only. */
import { type Webhook, webhookOf } from '../../client/webhook.ts'
import { developerNews } from '../../engine/developer-tools.ts'
import { readBodyText } from '../../protocol/bounded-body.ts'

/** A webhook of any sender on this machine. */
type ReceivedWebhook = Webhook & {
  /** A repetition has another one. */
  readonly key: string
  /** ISO 8601. */
  readonly at: string
  readonly answer: Answer
}

/** A status, or `none`: the response never comes. */
type Answer = number | 'none'

/** The latest one is the last. */
const received: ReceivedWebhook[] = []
const maxReceived = 50
/** Bytes of a body: the most that an event has. */
const maxBytes = 262_144
/** Milliseconds after which every sender has given up. */
const longestWaitMs = 31_000
let answer: Answer = 204

/** Returns a challenge with status 200, and answers other webhooks as the developer has selected. */
export async function receive({ headers, body, signal }: Request): Promise<Response> {
  const { text, length } = await readBodyText(body, maxBytes)
  if (length > maxBytes) return new Response(null, { status: 413 })
  const challenge = challengeIn(text)
  const given = challenge === undefined ? answer : 200
  developerNews.count++
  received.push({ key: crypto.randomUUID(), at: new Date().toISOString(), ...webhookOf(headers, text), answer: given })
  if (received.length > maxReceived) received.shift()
  if (challenge !== undefined) return Response.json({ challenge })
  if (given !== 'none') return new Response(null, { status: given })
  await new Promise((resolve) => {
    setTimeout(resolve, longestWaitMs)
    signal.addEventListener('abort', resolve)
  })
  return new Response(null, { status: 504 })
}

function challengeIn(text: string): string | undefined {
  try {
    const { type, challenge } = Object(JSON.parse(text))
    return type === 'verification' && typeof challenge === 'string' ? challenge : undefined
  } catch {
    return undefined
  }
}

/** Returns the latest webhooks, oldest first, and the selected answer. @param after key of a webhook. Default, and for an unknown one: all */
export const receivedSince = (after: string | null) => ({
  answer,
  received: received.slice(received.findIndex(({ key }) => key === after) + 1),
})

/** @param selected a status or `none`; other texts change nothing */
export function selectAnswer(selected: string): void {
  if (selected === 'none') answer = selected
  else if (/^[2-5]\d\d$/.test(selected)) answer = Number(selected)
}
