/** Validates the responses of clients to the input requests of tasks, before they are stored. */

import { jsonSchema } from '../../declarations/json-schema/index.ts'
import { issuesText } from '../../declarations/schema.ts'
import { readRootsResult, readSamplingResult, readUrlResult } from '../../engine/read-input-response.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { InputRequest, Params } from '../../protocol/types.ts'

/**
 * Returns the problem of a response; `undefined` without a problem. Validates by the schema of the form that the client received; further
 * checks of the handler's own schema happen when the handler runs.
 */
export function problemOf(key: string, { method, params = {} }: InputRequest, response: unknown): string | undefined {
  const invalid = `The answer to "${key}" is not a valid ${method} result`
  if (method === 'sampling/createMessage') return readSamplingResult(response) ? undefined : invalid
  if (method === 'roots/list') return readRootsResult(response) ? undefined : invalid
  const visited = readUrlResult(response)
  if (!visited) return invalid
  const { requestedSchema } = params
  if (visited.action !== 'accept' || !isObject(requestedSchema)) return undefined
  const { content = {} }: Params = isObject(response) ? response : {}
  const issues = jsonSchema(requestedSchema, 'form')(content)
  return issues.length > 0 ? `The answer to "${key}" does not fit its schema: ${issuesText(issues)}` : undefined
}
