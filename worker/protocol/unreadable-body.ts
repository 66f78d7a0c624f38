/** The id of a client's response in a body that cannot be read: one that is too large, not UTF-8 or not JSON. The call that waits for it fails. */
import type { McpError } from './errors.ts'
import type { Parsed } from './jsonrpc.ts'

/** Bytes that are read of either end of a body that is too large, and characters there in which an id is searched. */
export const endBytes = 1024

/** Returns the error for a body that is not read as JSON. @param text its first and last characters, or all */
export function unreadableBody(malformed: McpError, text: string): Parsed {
  const id = responseIdAtEnds(text)
  return { malformed, responseIds: id === undefined ? [] : [id] }
}

/** A member of a response besides its result. */
const shortMember = String.raw`\s*"(?:jsonrpc|id)"\s*:\s*"[\w.-]{1,64}"\s*`
const beforeResult = new RegExp(String.raw`^\s*{(?:${shortMember},)*\s*"(?:result|error)"\s*:`)
const afterResult = new RegExp(String.raw`(?:,${shortMember})*}\s*$`)

/** Returns the id of a response, from the text before and after its result: texts in a result have escaped quotes. */
function responseIdAtEnds(text: string): string | undefined {
  const start = beforeResult.exec(text.slice(0, endBytes))
  const end = afterResult.exec(text.slice(-endBytes))
  return start ? /"id"\s*:\s*"(.*?)"/.exec(`${start}${end}`)?.[1] : undefined
}
