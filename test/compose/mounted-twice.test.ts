import { expect, test, vi } from 'vitest'
import { mount } from '../../worker/compose/mount.ts'
import { createServer } from '../../worker/server/server.ts'

test('what a server announces that is mounted in two others reaches the clients of both', async () => {
  const part = createServer({ name: 'part', version: '1.0.0' })
  const outers = ['one', 'two'].map((name) => {
    const server = createServer({ name, version: '1.0.0' }).use(mount(part, { prefix: `${name}_` }))
    const publish = vi.fn(async () => {})
    server.registry.publish = publish
    return publish
  })
  await part.updates.tools()
  for (const publish of outers) expect(publish).toHaveBeenCalledExactlyOnceWith({ list: 'tools' }, undefined)
})
