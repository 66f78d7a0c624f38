// Prints a token of a local issuer, for use with `npm run dev`: `npm run -s token -- <user> <team> <scopes> --port <port>`.
// The first run creates a key pair: the private key in .dev.key.json, the public key as KEYS in .dev.vars.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // The port of `wrangler dev`.
  options: { port: { type: 'string', default: '8787' } },
})
const [user = 'ada', team = 'acme', scope = 'projects:read projects:write'] = positionals
const port = Number(values.port)
if (!Number.isInteger(port) || port < 1 || port > 65_535) {
  throw new Error(`--port must be a number from 1 to 65535, not "${values.port}"`)
}
const issuer = 'https://issuer.local'
const keyFile = '.dev.key.json'

if (!existsSync(keyFile)) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'local' }] }
  writeFileSync(keyFile, JSON.stringify(await exportJWK(privateKey)), { mode: 0o600 })
  writeFileSync('.dev.vars', `ISSUER=${issuer}\nKEYS='${JSON.stringify(keys)}'\n`)
  console.error('Created a local issuer in .dev.vars: start `npm run dev` again if it runs.')
}

const token = await new SignJWT({ scope, org_id: team, client_id: 'local' })
  .setProtectedHeader({ alg: 'ES256', kid: 'local' })
  .setIssuer(issuer)
  // Clients may use either name of this machine: the audience is the URL that they call.
  .setAudience([`http://localhost:${port}/mcp`, `http://127.0.0.1:${port}/mcp`])
  .setSubject(user)
  .setExpirationTime('8h')
  .sign(await importJWK(JSON.parse(readFileSync(keyFile, 'utf8')), 'ES256'))
console.log(token)
