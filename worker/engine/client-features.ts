/** Client features that input requests need. */

import type { ClientFeature } from '../declarations/context.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { ClientCapabilities, InputRequest, SamplingMessage } from '../protocol/types.ts'
import { messagesOf } from './tool-balance.ts'

/** The names of the members that lead to the capability of a feature. */
const capabilityOf = (feature: ClientFeature): string[] =>
  (feature === 'elicitation' ? 'elicitation.form' : feature).split('.')

export function supportsFeature(capabilities: ClientCapabilities, feature: ClientFeature): boolean {
  let declared: unknown = capabilities
  for (const name of capabilityOf(feature)) declared = isObject(declared) ? declared[name] : undefined
  return isObject(declared)
}

export const requiredCapabilities = (feature: ClientFeature): ClientCapabilities =>
  capabilityOf(feature).reduceRight<ClientCapabilities>((inner, name) => ({ [name]: inner }), {})

/** The features that a client must support to be sent this input request. */
export function requiredFeatures({ method, params = {} }: InputRequest): ClientFeature[] {
  if (method === 'roots/list') return ['roots']
  if (method === 'elicitation/create') return [params.mode === 'url' ? 'elicitation.url' : 'elicitation']
  const { tools, toolChoice, includeContext = 'none' } = params
  const features: ClientFeature[] = ['sampling']
  if (tools || toolChoice || hasToolBlocks(messagesOf(params))) features.push('sampling.tools')
  if (includeContext !== 'none') features.push('sampling.context')
  return features
}

const hasToolBlocks = (messages: readonly SamplingMessage[]) =>
  messages.some(({ content }) => [content].flat().some(({ type }) => type === 'tool_use' || type === 'tool_result'))
