import { expect, test, vi } from 'vitest'
import { createServer } from '../../worker/declarations/server.ts'
import { mount } from '../../worker/plugins/compose/mount.ts'
import { deliverChanges } from '../support/changes.ts'

test('a change of a server that is mounted in two others reaches the subscribers of both', async () => {
  const part = createServer({ name: 'part', version: '1.0.0' })
  const outers = ['one', 'two'].map((name) => {
    const server = createServer({ name, version: '1.0.0' }).use(mount(part, { prefix: `${name}_` }))
    const publish = vi.fn(async () => {})
    deliverChanges(server, { publish })
    return publish
  })
  await part.notify.toolsChanged()
  for (const publish of outers) expect(publish).toHaveBeenCalledExactlyOnceWith({ list: 'tools' }, undefined, new Set())
})
