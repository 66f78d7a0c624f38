/** How a client answers questions, in the shapes of every schema. */
import type { Answers, Elicited, Question } from './generation.ts'

/** What a client that answers like this declares. */
export const capabilitiesOf = ({ elicit, sample, roots }: Answers) => ({
  ...(elicit && { elicitation: { form: { applyDefaults: true } } }),
  ...(sample && { sampling: {} }),
  ...(roots && { roots: {} }),
})

type Sampling = { messages: readonly { content: unknown }[] }

export async function sampled(answer: NonNullable<Answers['sample']>, { messages }: Sampling) {
  const said = messages.at(-1)?.content as { text: string } | undefined
  const text = await answer(said?.text ?? '')
  return { role: 'assistant' as const, model: 'a model', content: { type: 'text' as const, text } }
}

type Elicitation = { message: string; requestedSchema?: unknown }

export async function elicited(
  answer: NonNullable<Answers['elicit']>,
  { message, requestedSchema }: Elicitation,
): Promise<Elicited> {
  const { properties } = requestedSchema as { properties: Record<string, unknown> }
  const question: Question = { message, fields: Object.keys(properties) }
  return answer(question)
}

export const listedRoots = (uris: readonly string[]) => ({ roots: uris.map((uri) => ({ uri })) })
