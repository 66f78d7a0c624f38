/** A registry on this machine, for the packages of this repository. It gets all other packages from the registry that npm uses. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'

export type Registry = AsyncDisposable & {
  readonly url: string
  /** Variables with which npm uses the registry, and a cache of its own. */
  readonly env: Readonly<Record<string, string>>
}

const verdaccio = resolve(import.meta.dirname, 'node_modules/verdaccio/bin/verdaccio')

/** @param folder for its files: an empty one */
export async function startRegistry(folder: string): Promise<Registry> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const uplink = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  mkdirSync(folder, { recursive: true })
  const config = {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'users') } },
    uplinks: { usual: { url: uplink, maxage: '60m' } },
    packages: {
      edgemcp: { access: '$all', publish: '$all' },
      'create-edgemcp': { access: '$all', publish: '$all' },
      '**': { access: '$all', proxy: 'usual' },
    },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
    max_body_size: '50mb',
  }
  const path = join(folder, 'config.yaml')
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(config))
  const child = spawn(process.execPath, [verdaccio, '--config', path, '--listen', `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const isThere = async () => (await fetch(new URL('-/ping', url)).catch(() => undefined))?.ok === true
  for (let isReady = await isThere(); !isReady; isReady = await isThere()) {
    if (child.exitCode !== null) throw new Error('verdaccio has ended before it answered')
    await new Promise((done) => setTimeout(done, 100))
  }
  return {
    url,
    env: {
      npm_config_registry: url,
      npm_config_cache: join(folder, 'cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      [`npm_config_//127.0.0.1:${port}/:_authToken`]: 'rehearsal',
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('There is no free port')
  return address.port
}
