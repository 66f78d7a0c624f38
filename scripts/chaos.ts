/** Runs a server under load while it fails: `npm run chaos -- versions` deploys another version, `npm run chaos -- events` kills workerd. */
import { argv } from 'node:process'

const what = argv[2]
if (what !== 'versions' && what !== 'events')
  throw new Error('Use npm run chaos -- versions, or npm run chaos -- events')
await import(`./chaos-${what}.ts`)
