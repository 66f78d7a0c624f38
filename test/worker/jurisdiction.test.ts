import { expect, test } from 'vitest'
import { createServer, type Plugin, serve } from '../../worker/index.ts'
import { sessions } from '../../worker/plugins/sessions/index.ts'

test('a change is delivered in each jurisdiction in which its server is served', async () => {
  const changing = createServer({ name: 'changing', version: '1.0.0' })
  const delivered: string[] = []
  const delivering: Plugin = {
    name: 'delivering',
    provide: ({ identity }) => ({
      changes: {
        publish: async () => void delivered.push(identity),
        setEnabled: async () => {},
        enabledOverrides: async () => ({}),
      },
    }),
  }
  const endpoint = (identity: string, jurisdiction?: 'eu') =>
    serve(changing, {
      identity,
      plugins: [sessions(), delivering],
      durableObjects: { names: { McpSession: `${identity}Session` }, ...(jurisdiction && { jurisdiction }) },
    })
  endpoint('anywhere')
  endpoint('european', 'eu')
  await changing.notify.toolsChanged()
  expect(delivered).toEqual(['["anywhere"]', '["european"]'])
})
