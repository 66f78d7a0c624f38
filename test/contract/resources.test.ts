import { expect } from 'vitest'
import { behaviour, withServer } from '../support/behaviour.ts'

withServer()

behaviour('resources and templates are listed', async ({ connect, kind }) => {
  const client = await connect()
  const { resources } = (await client.request('resources/list')) as { resources: Record<string, unknown>[] }
  const fixed = ['data://pixel', 'data://asks', 'data://seasonal']
  expect(resources.map(({ uri }) => uri)).toEqual([...fixed, 'note://1', 'note://2', 'note://3'])
  const [pixel, , , first] = resources
  expect(pixel).toMatchObject({ name: 'pixel', mimeType: 'image/png', size: 4 })
  expect(first).toMatchObject({ name: 'note 1', description: 'A note', mimeType: 'text/plain' })
  expect(first?.title).toBe(kind.revision >= '2025-06-18' ? 'Note 1' : undefined)
  const { resourceTemplates } = (await client.request('resources/templates/list')) as {
    resourceTemplates: Record<string, unknown>[]
  }
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'note://{id}',
    'season://{name}',
    'diary://{owner}',
  ])
  expect(resourceTemplates[0]).toMatchObject({ uriTemplate: 'note://{id}', name: 'note' })
  const annotations = resourceTemplates[0]?.annotations as Record<string, unknown>
  expect('lastModified' in annotations).toBe(kind.revision >= '2025-06-18')
})

behaviour('text and binary resources are read', async ({ connect, kind }) => {
  const client = await connect()
  const text = await client.request('resources/read', { uri: 'note://42' })
  expect(text.contents).toEqual([{ uri: 'note://42', mimeType: 'text/plain', text: 'note 42' }])
  const bytes = await client.request('resources/read', { uri: 'data://pixel' })
  expect(bytes.contents).toEqual([{ uri: 'data://pixel', mimeType: 'image/png', blob: 'iVBORw==' }])
  const hints = [bytes.ttlMs, bytes.cacheScope]
  expect(hints).toEqual(kind.revision >= '2026-07-28' ? [60_000, 'public'] : [undefined, undefined])
})

behaviour('an unknown resource is an error that names its URI', async ({ connect, kind }) => {
  const client = await connect()
  for (const uri of ['note://none', 'other://1', 'note://1/2']) {
    await expect(client.request('resources/read', { uri })).rejects.toMatchObject({
      code: kind.revision >= '2026-07-28' ? -32602 : -32002,
      data: { uri },
    })
  }
  for (const uri of ['note', 'file:///a/../b', 'file:///a/%2e%2E/b']) {
    await expect(client.request('resources/read', { uri })).rejects.toMatchObject({ code: -32602 })
  }
})
