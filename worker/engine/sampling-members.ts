/**
 * Optional members of sampling requests.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
 */
import type { Kind, Kinds } from '../declarations/check-options.ts'
import * as kind from '../declarations/option-kinds.ts'

const oneOf = (...values: readonly string[]): Kind => [
  (value) => typeof value === 'string' && values.includes(value),
  `one of ${values.join(', ')}`,
]
const fraction: Kind = [(value) => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1']

/** A list of objects, with known members if `members` is given. */
export const objects = (members?: Kinds): Kind => [
  (value) => kind.isListOf(value, kind.object()[0]),
  'a list of objects',
  members,
]

export const ofSampling: Kinds = {
  _meta: kind.object(),
  modelPreferences: kind.object({
    hints: objects({ name: kind.string }),
    costPriority: fraction,
    speedPriority: fraction,
    intelligencePriority: fraction,
  }),
  systemPrompt: kind.string,
  includeContext: oneOf('none', 'thisServer', 'allServers'),
  temperature: [Number.isFinite, 'a number'],
  stopSequences: kind.strings,
  metadata: kind.object(),
  toolChoice: kind.object({ mode: oneOf('auto', 'required', 'none') }),
}
