import type { Changes } from '../../worker/declarations/change-hub.ts'
import { draftOf } from '../../worker/declarations/declarations.ts'
import type { Server } from '../../worker/declarations/server.ts'

/** Delivers the changes of a server to these functions, like `serve()` with `subscriptions()`. */
export function deliverChanges(server: Server, changes: Partial<Changes>): void {
  draftOf(server).changes.connect('test', {
    publish: async () => {},
    setEnabled: async () => {},
    enabledOverrides: async () => ({}),
    ...changes,
  })
}
