import { isObject } from '../../protocol/jsonrpc.ts'
import type { SamplingContent } from '../../protocol/types.ts'
import { startOf } from '../../protocol/well-formed.ts'

export type ToolUse = Extract<SamplingContent, { type: 'tool_use' }>

/** A tool call of a model. `problem`: why it must not run; `use` is then a valid block in its place. */
export type ReadToolUse = { readonly use: ToolUse; readonly problem?: string }

/**
 * Reads the tool calls of a model's message. Neither models nor their clients validate them: a block may lack its id, repeat an id, or have
 * a name that is not a string or an input that is not an object.
 *
 * @param newId returns an id for a block without one, by its index among the calls
 * @returns the content with a valid block, and a unique id, for each call
 */
export function readToolUses(
  answer: SamplingContent | SamplingContent[],
  newId: (index: number) => string,
): { content: SamplingContent | SamplingContent[]; uses: readonly ReadToolUse[] } {
  const items = [answer].flat()
  const counts = new Map<unknown, number>()
  for (const block of items) if (block.type === 'tool_use') counts.set(block.id, (counts.get(block.id) ?? 0) + 1)
  const uses: ReadToolUse[] = []
  const content = Array.isArray(answer) ? answer.map(read) : read(answer)
  return { content, uses }

  function read(block: SamplingContent): SamplingContent {
    if (block.type !== 'tool_use') return block
    const problem = problemOf(block, counts.get(block.id) ?? 0)
    const use = problem === undefined ? block : wellFormed(block, isOwnId(block.id) ? block.id : freeId(uses.length))
    uses.push({ use, ...(problem !== undefined && { problem }) })
    return use
  }

  function isOwnId(id: unknown): boolean {
    return typeof id === 'string' && id !== '' && counts.get(id) === 1
  }

  function freeId(index: number): string {
    let id = newId(index)
    while (counts.has(id)) id += '_'
    counts.set(id, 1)
    return id
  }
}

/** Members that clients do not validate. */
type Unchecked = Readonly<Record<'id' | 'name' | 'input', unknown>>

function problemOf({ id, name, input }: Unchecked, count: number): string | undefined {
  if (typeof id !== 'string' || id === '')
    return `the id of this tool_use is ${preview(id)}: it must be a string that is not empty`
  if (count > 1) return `${count} tool_use blocks of one message have the id ${preview(id)}: give each its own id`
  if (typeof name !== 'string') return `the name of this tool_use is ${preview(name)}: it must be a string`
  if (!isObject(input)) return `the input of this tool_use is ${preview(input)}: it must be an object`
  return undefined
}

/** Returns a valid block with the valid parts of another. */
function wellFormed({ name, input }: Unchecked, id: string): ToolUse {
  return {
    type: 'tool_use',
    id,
    name: typeof name === 'string' ? name : 'unknown',
    input: isObject(input) ? input : {},
  }
}

const maxShown = 100
const preview = (value: unknown): string => (value === undefined ? 'missing' : startOf(JSON.stringify(value), maxShown))
