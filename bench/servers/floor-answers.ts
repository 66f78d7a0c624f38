/** Responses of the minimal server. It expects known requests, and validates nothing. */
import * as offer from './offer.ts'
import { listed, type Request as Message, type Result, said, serverInfo } from './wire.ts'

const capabilities = { tools: {}, resources: {} }
const { name: _name, uri, mimeType, text } = offer.readme

const many: Result = {
  tools: [
    ...(listed.tools as object[]),
    ...offer.greeters.map((greeter) => ({ ...(listed.tools as object[])[2], ...greeter })),
  ],
}

export function answerTo({ method, params }: Message): Result {
  if (method === 'tools/list') return OFFER === 'many' ? many : listed
  if (method === 'resources/read') return { contents: [{ uri, mimeType, text }] }
  if (method === 'server/discover') return { supportedVersions: ['2026-07-28'], capabilities }
  if (method === 'initialize') return { protocolVersion: '2025-11-25', capabilities, serverInfo }
  const { text: words, item } = params.arguments ?? {}
  if (OFFER === 'talking') return said(item === undefined ? offer.counted : offer.bought(String(item), true))
  if (OFFER === 'plain' || OFFER === 'many') return said(words)
  const structuredContent = offer.converted(params.arguments as offer.Temperatures)
  return { ...said(JSON.stringify(structuredContent)), structuredContent }
}

/** The input request that a stateless client answers first. */
export function questionTo({ params }: Message): Result | undefined {
  if (OFFER !== 'talking' || params.arguments?.item === undefined || 'inputResponses' in params) return undefined
  const consent = { method: 'elicitation/create', params: questionFor(params) }
  return { resultType: 'input_required', inputRequests: { consent } }
}

export const questionFor = ({ arguments: given }: Message['params']) => ({
  message: offer.question(String(given?.item)),
  requestedSchema: offer.consentSchema,
})

/** The notifications before the response. */
export function toldOf(params: Message['params'] & { _meta?: Record<string, unknown> }): object[] {
  const progressToken = OFFER === 'talking' && params.arguments?.item === undefined && params._meta?.progressToken
  if (!progressToken) return []
  return Array.from({ length: offer.steps }, (_, index) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress: index + 1, total: offer.steps },
  }))
}
