/** `@modelcontextprotocol/client` speaks two eras: told to, by finding out, or the old one only. */
import {
  type CallToolResult,
  Client,
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { without20251125 } from './2025-11-25.ts'
import { capabilitiesOf, elicited, listedRoots, sampled } from './answers.ts'
import { type Generation, newNotes, overhear } from './generation.ts'
import { reconnectionOptions } from './sdk-1.ts'

const withoutSessions: Generation['cannot'] = {
  ping: { because: 'the revision has none', shows: /'ping' is not supported/ },
  'ending a session': { because: 'the revision has none', shows: /expected 200 to be 404/ },
  'taking up a session': { because: 'the revision has none', shows: /expected undefined to deeply equal/ },
  polling: { because: 'the revision knows no way back', shows: /requests with Last-Event-ID/ },
  resumption: { because: 'a lost connection ends its call', shows: /expected 0 to be greater|to include 'note/ },
}

export const pinned = generation('pinned', { pin: '2026-07-28' }, '2026-07-28', withoutSessions)
export const negotiating = generation('negotiating', 'auto', '2026-07-28', withoutSessions)
export const legacy = generation('legacy', 'legacy', '2025-11-25', without20251125)

function generation(
  name: string,
  mode: VersionNegotiationMode,
  revision: string,
  cannot: Generation['cannot'],
): Generation {
  return {
    name: `client 2.4.0, ${name}`,
    revision,
    cannot,
    async connect(url, answers, sessionId) {
      const transport = new StreamableHTTPClientTransport(url, { sessionId, reconnectionOptions })
      const heard = overhear(transport)
      const notes = newNotes()
      const client = new Client(
        { name: 'client 2.4', version: '2.4.0' },
        { capabilities: capabilitiesOf(answers), versionNegotiation: { mode } },
      )
      client.onerror = (error) => notes.complaints.push(error)
      client.setNotificationHandler(
        'notifications/resources/updated',
        ({ params }) => void notes.updates.push(params.uri),
      )
      client.setNotificationHandler('notifications/tools/list_changed', () => void notes.changes.add('tools'))
      client.setNotificationHandler('notifications/prompts/list_changed', () => void notes.changes.add('prompts'))
      client.setNotificationHandler('notifications/resources/list_changed', () => void notes.changes.add('resources'))
      client.setNotificationHandler('notifications/message', ({ params }) => void notes.logs.push(params.level))
      const { elicit, sample, roots } = answers
      if (elicit) {
        client.setRequestHandler('elicitation/create', async ({ params }) =>
          elicited(elicit, params as { message: string }),
        )
      }
      if (sample) client.setRequestHandler('sampling/createMessage', ({ params }) => sampled(sample, params))
      if (roots) client.setRequestHandler('roots/list', () => listedRoots(roots))
      await client.connect(transport)
      const modern = client.getProtocolEra() === 'modern'
      let logLevel: { _meta?: Record<string, string> } = {}

      return {
        ...notes,
        heard,
        get revision() {
          return client.getNegotiatedProtocolVersion()
        },
        get session() {
          return transport.sessionId
        },
        server: { name: client.getServerVersion()?.name, instructions: client.getInstructions() },
        ping: () => client.ping(),
        // Without a cursor this client reads all pages by itself.
        tools: async () => (await client.listTools()).tools.map(({ name }) => name),
        resources: async () => (await client.listResources()).resources.map(({ name }) => name),
        templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(({ name }) => name),
        prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
        async call(tool, args = {}, { onProgress, signal, timeout } = {}) {
          const result: CallToolResult = await client.callTool(
            { name: tool, arguments: args, ...logLevel },
            {
              signal,
              timeout,
              ...(onProgress && { onprogress: ({ progress, total }) => onProgress(progress, total) }),
            },
          )
          const { content, structuredContent, isError } = result
          return { content, structured: structuredContent, failed: isError === true }
        },
        read: async (uri) => (await client.readResource({ uri })).contents,
        prompt: async (prompt, args) =>
          (await client.getPrompt({ name: prompt, arguments: args })).messages.map(({ content }) =>
            content.type === 'text' ? content.text : undefined,
          ),
        async complete(what, argument, context) {
          const ref =
            'prompt' in what
              ? { type: 'ref/prompt' as const, name: what.prompt }
              : { type: 'ref/resource' as const, uri: what.template }
          const params = { ref, argument, ...(context && { context: { arguments: context } }) }
          return (await client.complete(params)).completion.values
        },
        async setLogLevel(level) {
          // There is no request for it any more: each call says what it wants to hear.
          if (modern) logLevel = { _meta: { [LOG_LEVEL_META_KEY]: level } }
          else await client.setLoggingLevel(level)
        },
        async watch(...uris) {
          if (modern) {
            const subscription = await client.listen({
              resourceSubscriptions: uris,
              toolsListChanged: true,
              promptsListChanged: true,
              resourcesListChanged: true,
            })
            return { stop: () => subscription.close() }
          }
          for (const uri of uris) await client.subscribeResource({ uri })
          return {
            async stop() {
              for (const uri of uris) await client.unsubscribeResource({ uri })
            },
          }
        },
        end: () => transport.terminateSession(),
        close: () => client.close(),
      }
    },
  }
}
