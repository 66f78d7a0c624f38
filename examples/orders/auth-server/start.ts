/**
 * An authorization server for this machine, which signs a token for one user, and on the same port the agent of this user.
 * `scripts/start.ts` calls it. Use it on your machine only.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Agent } from './agent.ts'

/** @param port that of the MCP server; this one listens on the next port */
export async function start(port: number) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'orders' }] }
  const server = createServer()
  server.listen(port === 0 ? 0 : port + 1, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const agent = new Agent(`${issuer}/events`)
  const documents: Record<string, object> = {
    '/.well-known/oauth-authorization-server': { issuer, jwks_uri: `${issuer}/jwks` },
    '/jwks': keys,
  }

  server.on('request', async (incoming, outgoing) => {
    const { url = '', headers } = incoming
    const answer = url === '/events' ? agent.receive(headers, await text(incoming)) : documents[url]
    outgoing.writeHead(answer ? 200 : 404, { 'Content-Type': 'application/json' })
    outgoing.end(JSON.stringify(answer))
  })

  return {
    announcement: `authorization server on ${issuer}`,
    variables: { ISSUER: issuer },
    async onReady(mcp: URL) {
      const token = await new SignJWT({ client_id: 'agent' })
        .setProtectedHeader({ alg: 'ES256', kid: 'orders', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience(mcp.href)
        .setSubject('ada')
        .setIssuedAt()
        .setExpirationTime('10m')
        .sign(privateKey)
      await agent.run(mcp, token)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
