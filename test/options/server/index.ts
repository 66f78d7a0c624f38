/** Functions that are called as JavaScript may call them, each with what it has to say. */
import { type Auth, createGuard, createServer, pageCursor, policies, type Server, serve } from 'edgemcp'
import { apiKeys } from 'edgemcp/api-keys'
import { app } from 'edgemcp/apps'
import { analyticsEngineSink, audit, consoleSink } from 'edgemcp/audit'
import { bearer, cloudflareAccess, forTenant, oauthProvider, oneOf, tenants } from 'edgemcp/auth'
import { combine, mount, proxy, routeByHost, routeHandler, rpcEntrypoint } from 'edgemcp/compose'
import { event, events, eventsEntrypoint, fromWebhook } from 'edgemcp/events'
import { extension } from 'edgemcp/extensions'
import { inspector } from 'edgemcp/inspector'
import { observe } from 'edgemcp/observe'
import { openApiTools, parseOpenApi } from 'edgemcp/openapi'
import { page } from 'edgemcp/page'
import { rateLimit } from 'edgemcp/rate-limit'
import { resultStore } from 'edgemcp/results'
import { sessions } from 'edgemcp/sessions'
import { cloudflareAccess as accessLogin, entra, github, google, oauth2, oidc, okta, signIn } from 'edgemcp/sign-in'
import { skills } from 'edgemcp/skills'
import { state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

/** What a type checker would refuse. */
const loose = (value?: unknown) => value as never

const published = event('a', { payloadSchema: z.object({}) })
const newServer = () => createServer({ name: 'options', version: '1.0.0' })
const served = (options: unknown) => serve(newServer(), loose(options))
const issuer = 'https://auth.example.com'
const auth = bearer({ issuer })
const base = 'https://api.example/v1'
const upstream = 'https://weather.example/mcp'
const client = { clientId: 'a', clientSecret: 'b' }
const gitHub = github(client)
const document = { openapi: '3.1.0', paths: {} }

const authExpected = 'an auth such as bearer({ issuer })'
const pluginsExpected = 'a list of plugins, such as [subscriptions(), rateLimit()]'
const sinkExpected = 'a sink such as consoleSink() returns, or a list of sinks'
const limitsTake =
  '"limits" takes maxJsonDepth, maxJsonValues, maxBatchSize, maxBodyBytes, maxResultBytes, bodyTimeoutMs, streamAfterMs, keepAliveMs, maxBufferedBytes and maxStreamAgeMs'
const noJson = 'which has no JSON form: use plain objects, arrays, strings, finite numbers, booleans and null'
const proxiedTool = 'proxy("https://weather.example/mcp") for the tool "a"'
const workerExpected = 'a Worker such as serve(server) returns, an object with fetch, or a function'
const servedExpected = 'a Worker that serve() returns'
const routeMethodsExpected = 'a list of GET, HEAD, POST, OPTIONS'
const pathExpected = 'a path such as "/mcp", as URLs have it, without patterns'

const shown = (value: unknown) => {
  if (value instanceof Promise) return 'a promise'
  return typeof value === 'object' && value ? 'an object' : (JSON.stringify(value) ?? 'undefined')
}

/** As the errors show values. */
const previewed = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(previewed).join(', ')}]`
  if (typeof value === 'function') return 'a function'
  return value instanceof Map ? 'a Map' : shown(value)
}

/** A server with one plugin of a developer's own. */
const plugged = (members: object) => served({ plugins: [{ name: 'own', ...members }] })
const handle = () => new Response()
const routed = (route: unknown) => plugged({ routes: () => [route] })

type Case = readonly [title: string, run: () => unknown, message: string]

const misspelt: readonly Case[] = [
  [
    'serve: nothing alike',
    () => served({ gzip: true }),
    'serve() does not take "gzip": it takes path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors',
  ],
  [
    'serve: another beginning',
    () => served({ authorization: auth }),
    'serve() does not take "authorization" (did you mean "auth"?): it takes path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors',
  ],
  [
    'serve: one letter',
    () => served({ orgins: ['https://a.example'] }),
    'serve() does not take "orgins" (did you mean "origins"?): it takes path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors',
  ],
  [
    'serve: upper case',
    () => served({ Auth: auth }),
    'serve() does not take "Auth" (did you mean "auth"?): it takes path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors',
  ],
  [
    'serve: a name that every object has',
    () => served({ toString: 'x' }),
    'serve() does not take "toString": it takes path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors',
  ],
  [
    'serve: rateLimit() in limits',
    () => served({ limits: rateLimit({ quota: '1/d' }) }),
    `serve() does not take "limits.name": ${limitsTake}`,
  ],
  [
    'serve: options of rateLimit() in limits',
    () => served({ limits: { rate: '60/m' } }),
    `serve() does not take "limits.rate": ${limitsTake}`,
  ],
  [
    'serve: handlerErrors',
    () => served({ handlerErrors: 'generics' }),
    `"handlerErrors" of serve() must be 'message', 'generic' or a function, not "generics"`,
  ],
  ['serve: onError', () => served({ onError: [] }), '"onError" of serve() must be a function, not []'],
  [
    'sessions',
    () => sessions(loose({ tll: 1000 })),
    'sessions() does not take "tll" (did you mean "ttl"?): it takes ttl, log and revive',
  ],
  [
    'sessions: log',
    () => sessions({ log: loose({ events: 5 }) }),
    'sessions() does not take "log.events": "log" takes maxAgeMs, maxEvents, maxCharacters, maxResponses, maxResponseCharacters and maxStorageBytes',
  ],
  [
    'serve: objects',
    () => served({ durableObjects: { names: { McpSessions: 'Mine' } } }),
    'durableObjects.names of serve() has no class "McpSessions": it has McpSession and McpState',
  ],
  [
    'createServer',
    () => createServer(loose({ name: 'a', version: '1', instruction: 'Hello' })),
    'createServer() does not take "instruction" (did you mean "instructions"?): it takes name, version, title, description, icons, websiteUrl, instructions, experimental, caching, pageSize and jsonSchema',
  ],
  [
    'createServer: caching',
    () => createServer(loose({ name: 'a', version: '1', caching: { ttl: 1, cacheScope: 'public' } })),
    'createServer() does not take "caching.ttl" (did you mean "ttlMs"?): "caching" takes ttlMs and cacheScope',
  ],
  [
    'limits',
    () => rateLimit(loose({ rates: '60/m' })),
    'rateLimit() does not take "rates" (did you mean "rate"?): it takes per, rate, quota, concurrent, streams, time and arguments',
  ],
  [
    'bearer',
    () => bearer(loose({ issuer, audiences: 'x' })),
    'bearer() does not take "audiences" (did you mean "audience"?): it takes issuer, keys, audience, algorithms, introspection, verify, resource, scopes, requireScopesEverywhere, requiredScopes, allowAnonymous, clockTolerance, tokenCacheMs, dpop, fetch, resourceName, resourceDocumentation, subjectClaim, tenantClaim, requireTenant, getScopes, impliedScopes, storedClaims and reauthorize',
  ],
  [
    'signIn',
    () => signIn(loose({ with: gitHub, accessTokenTTL: '1h' })),
    'signIn() does not take "accessTokenTTL" (did you mean "accessTokenTtl"?): it takes with, upstreams, origin, allow, tenant, grantScopes, requireTenant, enterprise, accessTokenTtl, refreshTokenTtl, rememberConsent, privateUseRedirectUris, scopes, requireScopesEverywhere, requiredScopes, impliedScopes, allowAnonymous, tokenCacheMs, resourceName, resourceDocumentation, storedClaims and reauthorize',
  ],
  [
    'signIn: scopes',
    () => signIn(loose({ with: gitHub, scopes: { 'notes write': 'Change your notes' } })),
    `"scopes" of signIn() must be a list such as ['notes:read'], or descriptions such as { 'notes:read': 'Read your notes' }, not an object`,
  ],
  [
    'bearer: scopes',
    () => bearer(loose({ issuer, requiredScopes: ['notes:read notes:write'] })),
    `"requiredScopes" of bearer() must be a list such as ['notes:read'], not ["notes:read notes:write"]`,
  ],
  [
    'github',
    () => github(loose({ clientId: 'a', clientSecret: 'b', organisations: ['c'] })),
    'github() does not take "organisations" (did you mean "organizations"?): it takes clientId, clientSecret, scopes, additionalScopes, impliedScopes, name, title, emailDomains, authorizationParams, fetch, organizations, url and apiUrl',
  ],
  [
    'bearer: an issuer',
    () => bearer(loose({ issuer: [{ issuer, audiences: 'x' }] })),
    'bearer() does not take "issuer.audiences" (did you mean "audience"?): "issuer" takes issuer, keys, audience, algorithms and introspection',
  ],
  [
    'bearer: introspection',
    () => bearer(loose({ issuer, introspection: { id: 'a', clientSecret: 'b' } })),
    'bearer() does not take "introspection.id": "introspection" takes url, clientId, clientSecret and tokenPrefix',
  ],
  [
    'cloudflareAccess',
    () => cloudflareAccess(loose({ team: 'a', audience: 'b', issuer })),
    'cloudflareAccess() does not take "issuer": it takes team, audience, algorithms, verify, scopes, requireScopesEverywhere, requiredScopes, allowAnonymous, clockTolerance, tokenCacheMs, fetch, resourceName, resourceDocumentation, subjectClaim, tenantClaim, requireTenant, getScopes, impliedScopes, storedClaims, reauthorize and serviceTokens',
  ],
  [
    'oauthProvider',
    () => oauthProvider(() => undefined, loose({ reauthorise: () => undefined })),
    'oauthProvider() does not take "reauthorise" (did you mean "reauthorize"?): it takes storedClaims and reauthorize',
  ],
  ['bearer: no issuer', () => bearer({}), "bearer() needs an issuer: bearer({ issuer: 'https://auth.example.com' })"],
  [
    'forTenant',
    () => forTenant('acme', auth, loose({ allowMissing: true })),
    'forTenant() does not take "allowMissing" (did you mean "allowMissingClaim"?): it takes issuers and allowMissingClaim',
  ],
  [
    'subscriptions',
    () => subscriptions(loose({ shard: 2 })),
    'subscriptions() does not take "shard" (did you mean "shards"?): it takes shards, listeners, listenersEach, listenersPerAddress and storageBytes',
  ],
  [
    'proxy: timeout',
    () => proxy(upstream, { timeout: 'long' }),
    `"timeout" of proxy() must be at least 1 ms: milliseconds, or a string such as '2s', '10m', '1h' or '7d', not "long"`,
  ],
  [
    'proxy',
    () => proxy(upstream, loose({ header: () => ({}) })),
    'proxy() does not take "header" (did you mean "headers"?): it takes prefix, headers, upstream, timeout, attemptTimeout, retries, circuitBreaker, tools, include, exclude, listTimeout, listMaxAge, scopes, sharedSessions and fetch',
  ],
  ['mount', () => mount(newServer(), loose({ name: 'a' })), 'mount() does not take "name": it takes prefix'],
  [
    'server.use',
    () => newServer().use(() => {}, loose({ prefx: 'a' })),
    'server.use() does not take "prefx" (did you mean "prefix"?): it takes prefix',
  ],
  [
    'rpcEntrypoint',
    () => rpcEntrypoint(served({}), loose({ uri: 'https://a.example/mcp' })),
    'rpcEntrypoint() does not take "uri" (did you mean "url"?): it takes url',
  ],
  [
    'openApiTools',
    () => openApiTools([], loose({ baseUrl: base, scope: ['pets'] })),
    'openApiTools() does not take "scope" (did you mean "scopes"?): it takes baseUrl, headers, upstream, prefix, timeout, attemptTimeout, retries, circuitBreaker, tools, include, exclude and scopes',
  ],
  [
    'parseOpenApi',
    () => parseOpenApi(document, loose({ onskipped: () => {} })),
    'parseOpenApi() does not take "onskipped" (did you mean "onSkipped"?): it takes onSkipped',
  ],
  [
    'audit',
    () => audit(loose({ sinks: consoleSink(), addresses: false })),
    'audit() does not take "addresses" (did you mean "address"?): it takes sinks and address',
  ],
  [
    'observe',
    () => observe(loose({ sinks: consoleSink(), args: true })),
    'observe() does not take "args": it takes sinks, arguments and all',
  ],
  [
    'inspector',
    () => inspector(loose({ open: true, url: '/' })),
    'inspector() does not take "url": it takes auth and open',
  ],
  [
    'state',
    () => state('misspelt', loose({ per: 'user', ttl: 1, table: [] })),
    'state() does not take "table" (did you mean "tables"?): it takes per, ttl, tables, scopes and allEndpoints',
  ],
  [
    'app',
    () => app('ui://a', loose({ description: 'd', html: '', CSP: {} })),
    'app() does not take "CSP" (did you mean "csp"?): it takes description, name, title, html, csp, permissions, domain, prefersBorder and scopes',
  ],
  [
    'app: csp',
    () => app('ui://a', loose({ description: 'd', html: '', csp: { connect: [] } })),
    'app() does not take "csp.connect" (did you mean "connectDomains"?): "csp" takes connectDomains, resourceDomains, frameDomains and baseUriDomains',
  ],
  [
    'extension',
    () => extension('com.example/a', loose({ method: {} })),
    'extension() does not take "method" (did you mean "methods"?): it takes settings, methods, named and scopes',
  ],
  [
    'skills',
    () => skills([], loose({ cache: {} })),
    'skills() does not take "cache" (did you mean "caching"?): it takes caching and scopes',
  ],
  [
    'policies.browser',
    () => policies.browser(loose({ origin: 'https://a.example' })),
    'policies.browser() does not take "origin" (did you mean "origins"?): it takes origins and hosts',
  ],
]

const wrong: readonly Case[] = [
  // Who may call.
  ['auth: uncalled', () => served({ auth: bearer }), `"auth" of serve() must be ${authExpected}, not a function`],
  [
    'auth: a function',
    () => served({ auth: () => false }),
    `"auth" of serve() must be ${authExpected}, not a function`,
  ],
  ['auth: true', () => served({ auth: true }), `"auth" of serve() must be ${authExpected}, not true`],
  ['auth: null', () => served({ auth: null }), `"auth" of serve() must be ${authExpected}, not null`],
  ['auth: {}', () => served({ auth: {} }), `"auth" of serve() must be ${authExpected}, not an object`],
  ['auth: options', () => served({ auth: { issuer } }), `"auth" of serve() must be ${authExpected}, not an object`],
  [
    'bearer: requireTenant without tenantClaim',
    () => bearer({ issuer, requireTenant: true }),
    "bearer() has requireTenant, but no tenantClaim: name the claim of the tenant, as in tenantClaim: 'org_id'",
  ],
  [
    'signIn: no provider',
    () => signIn(loose({})),
    '"with" of signIn() must be a provider such as github({ clientId, clientSecret }), or a list of them, not undefined',
  ],
  [
    'signIn: an empty list',
    () => signIn({ with: [] }),
    '"with" of signIn() must be a provider such as github({ clientId, clientSecret }), or a list of them, not []',
  ],
  [
    'signIn: a provider that was not called',
    () => signIn(loose({ with: github })),
    '"with" of signIn() must be a provider such as github({ clientId, clientSecret }), or a list of them, not a function',
  ],
  [
    'signIn: an origin with a path',
    () => signIn({ with: gitHub, origin: 'https://mcp.example.com/mcp' }),
    `"origin" of signIn() must be an origin such as 'https://mcp.example.com', not "https://mcp.example.com/mcp"`,
  ],
  [
    'signIn: a duration',
    () => signIn(loose({ with: gitHub, accessTokenTtl: '1 hour' })),
    `"accessTokenTtl" of signIn() must be milliseconds, or a string such as '2s', '10m', '1h' or '7d', and at least 1m, not "1 hour"`,
  ],
  [
    'signIn: a short time',
    () => signIn({ with: gitHub, accessTokenTtl: '59s' }),
    `"accessTokenTtl" of signIn() must be milliseconds, or a string such as '2s', '10m', '1h' or '7d', and at least 1m, not "59s"`,
  ],
  ...['https://evil.example/callback', 'javascript:alert(1)', '/callback'].map(
    (uri): Case => [
      `signIn: the redirect URI ${uri}`,
      () => signIn({ with: gitHub, privateUseRedirectUris: [uri] }),
      `"privateUseRedirectUris" of signIn() must be a list of URIs with the scheme of an app, such as 'cursor://anysphere.cursor-mcp/oauth/callback', not ["${uri}"]`,
    ],
  ),
  [
    'github: no secret',
    () => github(loose({ clientId: 'a' })),
    '"clientSecret" of github() must be a non-empty string, not undefined',
  ],
  [
    'github: a name',
    () => github({ ...client, name: 'Git/Hub' }),
    '"name" of github() must be lower-case letters, digits and -, not "Git/Hub"',
  ],
  [
    'github: a URL',
    () => github({ ...client, url: 'github.example.com' }),
    '"url" of github() must be an absolute URL, not "github.example.com"',
  ],
  [
    'oidc: an issuer',
    () => oidc({ ...client, issuer: 'login.example.com' }),
    '"issuer" of oidc() must be an absolute URL, not "login.example.com"',
  ],
  [
    'oauth2: an authentication',
    () =>
      oauth2(
        loose({
          ...client,
          authorizationUrl: issuer,
          tokenUrl: issuer,
          user: () => ({ id: 'a' }),
          clientAuthentication: 'header',
        }),
      ),
    `"clientAuthentication" of oauth2() must be 'post' or 'basic', not "header"`,
  ],
  [
    'google: a domain',
    () => google(loose({ ...client, domains: 'example.com' })),
    '"domains" of google() must be a list of strings, not "example.com"',
  ],
  [
    'entra: a tenant',
    () => entra({ ...client, tenant: 'common' }),
    '"tenant" of entra() must be the id of the directory, a GUID, not "common"',
  ],
  [
    'okta: a URL',
    () => okta({ ...client, domain: 'https://example.okta.com' }),
    `"domain" of okta() must be a domain without https://, such as 'example.okta.com', not "https://example.okta.com"`,
  ],
  [
    'cloudflareAccess: a domain',
    () => accessLogin({ ...client, team: 'example.cloudflareaccess.com' }),
    '"team" of cloudflareAccess() must be the name of the team, not "example.cloudflareaccess.com"',
  ],
  ...(
    [
      ['several issuers', bearer({ issuer: [issuer, 'https://other.example'], tenantClaim: 'org_id' })],
      ['several auths', oneOf(auth, bearer({ issuer: 'https://other.example' }))],
      ['unknown issuers', bearer({ verify: () => undefined })],
      ['a sign-in at any host', signIn({ with: gitHub })],
    ] as const
  ).map(
    ([what, of]): Case => [
      `forTenant: ${what}`,
      () => forTenant('acme', of),
      "The auth of forTenant() may have several issuers: name those of the tenant, as in forTenant('acme', auth, { issuers: ['https://login.example.com'] })",
    ],
  ),
  [
    'forTenant: no tenant',
    () => forTenant(loose(), auth),
    '"tenant" of forTenant() must be a non-empty string, not undefined',
  ],
  [
    'forTenant: no auth',
    () => forTenant('acme', loose()),
    `"auth" of forTenant() must be ${authExpected}, not undefined`,
  ],
  [
    'inspector: auth',
    () => inspector(loose({ auth: {} })),
    `"auth" of inspector() must be ${authExpected}, not an object`,
  ],
  [
    'inspector: open',
    () => inspector(loose({ open: 'yes' })),
    '"open" of inspector() must be true or false, not "yes"',
  ],
  [
    'oauthProvider: no function',
    () => oauthProvider(loose({ issuer })),
    '"principal" of oauthProvider() must be a function, not an object',
  ],
  [
    'bearer: issuer',
    () => bearer(loose({ issuer: 5 })),
    '"issuer" of bearer() must be a URL, an object with issuer, or a list of them, not 5',
  ],
  [
    'bearer: requiredScopes',
    () => bearer(loose({ issuer, requiredScopes: 'admin' })),
    `"requiredScopes" of bearer() must be a list such as ['notes:read'], not "admin"`,
  ],
  [
    'bearer: allowAnonymous',
    () => bearer(loose({ issuer, allowAnonymous: 'false' })),
    '"allowAnonymous" of bearer() must be true or false, not "false"',
  ],
  [
    'bearer: impliedScopes',
    () => bearer(loose({ issuer, impliedScopes: { write: 'read' } })),
    '"impliedScopes" of bearer() must be an object of lists of strings, not an object',
  ],
  [
    'bearer: clockTolerance',
    () => bearer(loose({ issuer, clockTolerance: '30s' })),
    '"clockTolerance" of bearer() must be a number of 0 or more, not "30s"',
  ],
  [
    'bearer: dpop',
    () => bearer(loose({ issuer, dpop: 'require' })),
    `"dpop" of bearer() must be true, false, 'required', or an object, not "require"`,
  ],
  [
    'bearer: dpop.nonces',
    () => bearer(loose({ issuer, dpop: { nonces: true } })),
    'bearer() does not take "dpop.nonces" (did you mean "nonce"?): "dpop" takes required, nonce, algorithms, maxAge and replay',
  ],
  [
    'bearer: dpop.nonce',
    () => bearer(loose({ issuer, dpop: { nonce: 500 } })),
    '"dpop.nonce" of bearer() must be true, false, or a duration of at least 1s, not 500',
  ],
  [
    'bearer: dpop.algorithms',
    () => bearer(loose({ issuer, dpop: { algorithms: ['HS256'] } })),
    '"dpop.algorithms" of bearer() must be a list of ES256, ES384, ES512, EdDSA, Ed25519, PS256, PS384, PS512, RS256, RS384, RS512, not ["HS256"]',
  ],
  [
    'bearer: dpop.maxAge',
    () => bearer(loose({ issuer, dpop: { maxAge: '2h' } })),
    '"dpop.maxAge" of bearer() must be a duration of at most 1h, such as 5m, not "2h"',
  ],
  [
    'bearer: dpop.replay',
    () => bearer(loose({ issuer, dpop: { replay: 'none' } })),
    `"dpop.replay" of bearer() must be 'object' or 'isolate', not "none"`,
  ],
  [
    'bearer: introspection',
    () => bearer(loose({ issuer, introspection: { clientId: 'a' } })),
    '"introspection.clientSecret" of bearer() must be a string, not undefined',
  ],
  // How much.
  [
    'plugins: uncalled',
    () => served({ plugins: [rateLimit] }),
    `"plugins" of serve() must be ${pluginsExpected}, not [a function]`,
  ],
  [
    'plugins: one outside of a list',
    () => served({ plugins: subscriptions() }),
    `"plugins" of serve() must be ${pluginsExpected}, not an object`,
  ],
  [
    'plugins: options of one',
    () => served({ plugins: [{ rate: '1/m' }] }),
    `"plugins" of serve() must be ${pluginsExpected}, not [an object]`,
  ],
  [
    'plugins: a sink',
    () => served({ plugins: [consoleSink()] }),
    `"plugins" of serve() must be ${pluginsExpected}, not [a function]`,
  ],
  [
    'plugins: a promise',
    () => served({ plugins: [Promise.resolve(page())] }),
    `"plugins" of serve() must be ${pluginsExpected}, not [a promise]`,
  ],
  [
    'plugins: two with a limiter',
    () => served({ plugins: [rateLimit(), rateLimit()] }),
    'serve() has two plugins with a limiter: remove or rename one',
  ],
  [
    'plugins: two with subscriptions',
    () => served({ plugins: [subscriptions(), subscriptions()] }),
    'serve() has two classes named McpSubscriptions: remove or rename one',
  ],
  [
    'plugins: two with one class',
    () => served({ plugins: [tasks(), tasks()] }),
    'serve() has two classes named McpTask: remove or rename one',
  ],
  [
    'plugins: two with one path',
    () => served({ plugins: [page(), inspector({ open: true })] }),
    'Two routes of plugins, or a route and the endpoint, have the path "/": remove one, or give one route several methods',
  ],
  ['limits: rate', () => rateLimit(loose({ rate: 60 })), '"rate" of rateLimit() must be a string, not 60'],
  [
    'limits: concurrent',
    () => rateLimit({ concurrent: 0 }),
    '"concurrent" of rateLimit() must be a number of 1 or more, not 0',
  ],
  [
    'limits: time',
    () => rateLimit(loose({ time: '5 minutes' })),
    `"time" of rateLimit() must be milliseconds, or a string such as '2s', '10m', '1h' or '7d', or Infinity, not "5 minutes"`,
  ],
  [
    'limits: maxBodyBytes',
    () => served({ limits: { maxBodyBytes: '1mb' } }),
    '"limits.maxBodyBytes" of serve() must be a number of 1 or more, not "1mb"',
  ],
  // What is written.
  [
    'audit: a sink for Analytics Engine that is not called',
    () => audit(loose({ sinks: analyticsEngineSink })),
    `"sinks" of audit() must be ${sinkExpected}, not a function`,
  ],
  ['audit: no options', () => audit(loose()), 'audit() takes an object with sinks and address, not undefined'],
  ['audit: nowhere', () => audit({ sinks: [] }), `"sinks" of audit() must be ${sinkExpected}, not []`],
  [
    'audit: a sink that is not called',
    () => audit(loose({ sinks: consoleSink })),
    `"sinks" of audit() must be ${sinkExpected}, not a function`,
  ],
  ['observe: nowhere', () => observe(loose({})), `"sinks" of observe() must be ${sinkExpected}, not undefined`],
  [
    'observe: all',
    () => observe(loose({ sinks: consoleSink(), all: 1 })),
    '"all" of observe() must be true or false, not 1',
  ],
  // Where.
  ['path: a wildcard', () => served({ path: '/mcp/*' }), `"path" of serve() must be ${pathExpected}, not "/mcp/*"`],
  [
    'path: a URL',
    () => served({ path: 'https://a.example/mcp' }),
    `"path" of serve() must be ${pathExpected}, not "https://a.example/mcp"`,
  ],
  [
    'path: a pattern',
    () => served({ path: '/{tenant}/mcp' }),
    `"path" of serve() must be ${pathExpected}, not "/{tenant}/mcp"`,
  ],
  [
    'origins: a text',
    () => served({ origins: 'https://a.example' }),
    '"origins" of serve() must be a list of strings, not "https://a.example"',
  ],
  ['origins: true', () => served({ origins: true }), '"origins" of serve() must be a list of strings, not true'],
  [
    'hosts: a text',
    () => served({ hosts: 'mcp.example.com' }),
    '"hosts" of serve() must be a list of strings, not "mcp.example.com"',
  ],
  [
    'policies.browser: a text',
    () => policies.browser(loose('https://a.example')),
    'policies.browser() takes an object with origins and hosts, not "https://a.example"',
  ],
  [
    'policies.browser: nothing',
    () => policies.browser(loose({})),
    '"origins" of policies.browser() must be a list of strings, not undefined',
  ],
  // The rest of serve().
  [
    'serve: no server',
    () => serve(loose()),
    '"server" of serve() must be a server that createServer() returned, not undefined',
  ],
  [
    'serve: options of a server',
    () => serve(loose({ name: 'a', version: '1' })),
    '"server" of serve() must be a server that createServer() returned, not an object',
  ],
  [
    'serve: text for options',
    () => serve(newServer(), loose('/mcp')),
    'serve() takes an object with path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors, not "/mcp"',
  ],
  [
    'subscriptions: shards',
    () => subscriptions({ shards: 0 }),
    '"shards" of subscriptions() must be a whole number of 1 or more, not 0',
  ],
  // What would be ignored, or fail at each call.
  ['sessions: a list', () => sessions(loose([])), 'sessions() takes an object with ttl, log and revive, not []'],
  [
    'limits: keepAliveMs 0',
    () => served({ limits: { keepAliveMs: 0 } }),
    '"limits.keepAliveMs" of serve() must be a number of 1 or more, not 0',
  ],
  [
    'limits: a map',
    () => served({ limits: new Map([['maxBodyBytes', 5]]) }),
    `${limitsTake.replace('takes', 'of serve() takes an object with')}, not a Map`,
  ],
  [
    'serve: a promise',
    () => served(Promise.resolve({ auth })),
    'serve() takes an object with path, auth, tenants, plugins, requestContext, onError, handlerErrors, limits, identity, durableObjects, origins, hosts and cors, not a promise',
  ],
  [
    'server.tool: no name',
    () => newServer().tool(loose(), { description: 'Echoes' }, () => 'a'),
    '"name" of server.tool() must be a string, not undefined',
  ],
  [
    'server.prompt: no name',
    () => newServer().prompt(loose(), { description: 'Greets' }, () => 'a'),
    '"name" of server.prompt() must be a string, not undefined',
  ],
  [
    'server.tool: _meta without a JSON form',
    () => newServer().tool('echo', { description: 'Echoes', _meta: { a: 1n } }, () => 'a'),
    `"_meta" of tool "echo" has a bigint at a, ${noJson}`,
  ],
  [
    'createServer: experimental without a JSON form',
    () => createServer({ name: 'a', version: '1', experimental: { a: { b: 1n } } }),
    `"experimental" of createServer() has a bigint at a.b, ${noJson}`,
  ],
  ...['a b!', 'a'.repeat(128)].map(
    (prefix): Case => [
      `proxy: prefix ${prefix}`,
      () => proxy(upstream, { prefix }),
      `"prefix" of proxy() must be at most 127 letters, digits, "_", "." or "-", not "${prefix.slice(0, 100)}"`,
    ],
  ),
  [
    'proxy: scopes with a space',
    () => proxy(upstream, { scopes: ['a b'] }),
    `proxy("${upstream}") has the scopes ["a b"]: write a list, as in scopes: ['weather:read'], or a function`,
  ],
  [
    'proxy: the name of a tool',
    () => proxy(upstream, { tools: { a: { name: 'a b!' } } }),
    `"name" of ${proxiedTool} must be 1 to 128 letters, digits, "_", "." or "-", not "a b!"`,
  ],
  [
    'proxy: an unknown annotation',
    () => proxy(upstream, { tools: { a: { annotations: loose({ readOnly: true }) } } }),
    `${proxiedTool} does not take "annotations.readOnly" (did you mean "readOnlyHint"?): "annotations" takes title, readOnlyHint, destructiveHint, idempotentHint and openWorldHint`,
  ],
  [
    'proxy: a wrong annotation',
    () => proxy(upstream, { tools: { a: { annotations: { readOnlyHint: loose('yes') } } } }),
    `"annotations.readOnlyHint" of ${proxiedTool} must be true or false, not "yes"`,
  ],
  [
    'proxy: a wrong scope of a tool',
    () => proxy(upstream, { tools: { a: { scopes: ['a b'] } } }),
    `"scopes" of ${proxiedTool} must be a list such as ['notes:read'], not ["a b"]`,
  ],
  ...[{ 'X Key': 'a' }, { 'X-Key': null }, new Headers({ 'X-Key': 'a' }), 5].map(
    (headers, index): Case => [
      `openApiTools: headers ${index}`,
      () => openApiTools([], { baseUrl: base, headers: loose(headers) }),
      `"headers" of openApiTools() must be a function, or an object such as { 'X-Key': key }, not ${shown(headers)}`,
    ],
  ),
  ...[{}, null].map(
    (operation): Case => [
      `openApiTools: the operation ${JSON.stringify(operation)}`,
      () => openApiTools([loose(operation)], { baseUrl: base }),
      `"list" of openApiTools() must be a list such as the result of parseOpenApi(document), not [${operation ? 'an object' : 'null'}]`,
    ],
  ),
  ['sessions: true', () => sessions(loose(true)), 'sessions() takes an object with ttl, log and revive, not true'],
  [
    'sessions: ttl',
    () => sessions({ ttl: loose('never') }),
    `"ttl" of sessions() must be milliseconds, or a string such as '2s', '10m', '1h' or '7d', or Infinity, not "never"`,
  ],
  ['identity: empty', () => served({ identity: '' }), '"identity" of serve() must be a non-empty string, not ""'],
  [
    'durableObjects: a class',
    () => served({ durableObjects: { names: { McpSession: class {} } } }),
    '"durableObjects.names" of serve() must be names of classes, such as { McpSession: \'OtherSession\' }, not an object',
  ],
  [
    'cors: a header that is no name',
    () => served({ cors: { headers: ['cf-account-id', 'x: y'] } }),
    '"cors.headers" of serve() must be a list of header names, such as [\'cf-account-id\'], not ["cf-account-id", "x: y"]',
  ],
  [
    'cors: no list',
    () => served({ cors: { exposeHeaders: 'X-Request-Id' } }),
    '"cors.exposeHeaders" of serve() must be a list of header names, such as [\'X-Request-Id\'], not "X-Request-Id"',
  ],
  [
    'cors: a negative age',
    () => createGuard({ cors: { maxAgeSeconds: -1 } }),
    '"cors.maxAgeSeconds" of createGuard() must be a whole number of 0 or more, not -1',
  ],
  ['pageCursor: no name', () => pageCursor(''), '"name" of pageCursor() must be a non-empty string, not ""'],
  [
    'pageCursor: a ttl',
    () => pageCursor('orders', { ttl: 'a day' }),
    `"ttl" of pageCursor() must be milliseconds, or a string such as '2s', '10m', '1h' or '7d', not "a day"`,
  ],
  [
    'createGuard: a method',
    () => createGuard({ methods: ['get'] }),
    '"methods" of createGuard() must be a list of methods, such as [\'GET\', \'PUT\'], not ["get"]',
  ],
  [
    'createGuard: an origin',
    () => createGuard({ origins: ['app.example.com'] }),
    'Invalid origin "app.example.com": write "https://app.example.com"',
  ],
  // Functions without their argument.
  [
    'createServer: nothing',
    () => createServer(loose()),
    'createServer() takes an object with name, version, title, description, icons, websiteUrl, instructions, experimental, caching, pageSize and jsonSchema, not undefined',
  ],
  [
    'createServer: no version',
    () => createServer(loose({ name: 'a' })),
    '"version" of createServer() must be a non-empty string, not undefined',
  ],
  [
    'createServer: icons',
    () => createServer(loose({ name: 'a', version: '1', icons: 'a.png' })),
    `"icons" of createServer() must be a list such as [{ src: 'https://…' }], not "a.png"`,
  ],
  [
    'createServer: jsonSchema',
    () => createServer(loose({ name: 'a', version: '1', jsonSchema: true })),
    '"jsonSchema" of createServer() must be jsonSchema of "edgemcp/json-schema", not true',
  ],
  [
    'bearer: nothing',
    () => bearer(loose()),
    'bearer() takes an object with issuer, keys, audience, algorithms, introspection, verify, resource, scopes, requireScopesEverywhere, requiredScopes, allowAnonymous, clockTolerance, tokenCacheMs, dpop, fetch, resourceName, resourceDocumentation, subjectClaim, tenantClaim, requireTenant, getScopes, impliedScopes, storedClaims and reauthorize, not undefined',
  ],
  [
    'cloudflareAccess: nothing',
    () => cloudflareAccess(loose({})),
    '"team" of cloudflareAccess() must be a non-empty string, not undefined',
  ],
  [
    'mount: nothing',
    () => mount(loose()),
    '"server" of mount() must be a server that createServer() returned, not undefined',
  ],
  [
    'mount: a Worker',
    () => mount(loose(served({}))),
    '"server" of mount() must be a server that createServer() returned, not an object',
  ],
  [
    'state: nothing',
    () => state('nothing', loose()),
    'state() takes an object with per, ttl, tables, scopes and allEndpoints, not undefined',
  ],
  [
    'state: tables',
    () => state('tabled', loose({ per: 'user', ttl: 1, tables: 'CREATE' })),
    '"tables" of state() must be a list of strings, not "CREATE"',
  ],
  [
    'openApiTools: nothing',
    () => openApiTools([], loose()),
    'openApiTools() takes an object with baseUrl, headers, upstream, prefix, timeout, attemptTimeout, retries, circuitBreaker, tools, include, exclude and scopes, not undefined',
  ],
  [
    'openApiTools: a document',
    () => openApiTools(loose(document), { baseUrl: base }),
    '"list" of openApiTools() must be a list such as the result of parseOpenApi(document), not an object',
  ],
  [
    'app: nothing',
    () => app('ui://a', loose()),
    'app() takes an object with description, name, title, html, csp, permissions, domain, prefersBorder and scopes, not undefined',
  ],
  [
    'app: html',
    () => app('ui://a', loose({ description: 'd' })),
    '"html" of app() must be a string or a function, not undefined',
  ],
  [
    'extension: nothing',
    () => extension('com.example/a', loose()),
    'extension() takes an object with settings, methods, named and scopes, not undefined',
  ],
  [
    'extension: methods',
    () => extension('com.example/a', loose({ methods: { 'a/b': {} } })),
    '"methods" of extension() must be a plain object of functions, not an object',
  ],
  [
    'server.use: nothing',
    () => newServer().use(loose()),
    '"module" of server.use() must be a function such as the result of mount(server), not undefined',
  ],
  [
    'server.use: a server',
    () => newServer().use(loose(newServer())),
    '"module" of server.use() must be a function such as the result of mount(server), not an object',
  ],
  [
    'server.use: a text',
    () => newServer().use(() => {}, loose('a_')),
    'server.use() takes an object with prefix, not "a_"',
  ],
  [
    'server.intercept: nothing',
    () => newServer().intercept(loose()),
    '"interceptor" of server.intercept() must be a function, not undefined',
  ],
]

const durations = "milliseconds, or a string such as '2s', '10m', '1h' or '7d'"
const timed = (task: object) => newServer().tool('t', { description: 'd', task: loose(task) }, () => 'done')

/** Durations of less than 1 ms, which would be 0. */
const brief: readonly Case[] = [0.4, '0.4ms', '0.0001s'].flatMap((value): Case[] =>
  [
    ['"ttl" of sessions()', `${durations}, or Infinity`, () => sessions({ ttl: loose(value) })] as const,
    ['"time" of rateLimit()', `${durations}, or Infinity`, () => rateLimit({ time: value })] as const,
    ['"ttl" of pageCursor()', durations, () => pageCursor('c', { ttl: value })] as const,
    ['"ttl" of resultStore()', durations, () => resultStore({ bucket: loose(() => undefined), ttl: value })] as const,
    ['"task.ttl" of tool "t"', durations, () => timed({ ttl: value })] as const,
    ['"task.answerWithin" of tool "t"', durations, () => timed({ answerWithin: value })] as const,
    ['"task.pollInterval" of tool "t"', durations, () => timed({ pollInterval: value })] as const,
    ['"timeout" of proxy()', `at least 1 ms: ${durations}`, () => proxy(upstream, { timeout: value })] as const,
    [
      '"attemptTimeout" of proxy()',
      `at least 1 ms: ${durations}`,
      () => proxy(upstream, { attemptTimeout: value }),
    ] as const,
    ['"listTimeout" of proxy()', `at least 1 ms: ${durations}`, () => proxy(upstream, { listTimeout: value })] as const,
    [
      '"circuitBreaker.pause" of proxy()',
      durations,
      () => proxy(upstream, { circuitBreaker: { pause: value } }),
    ] as const,
    [
      '"timeout" of openApiTools()',
      `at least 1 ms: ${durations}`,
      () => openApiTools([], { baseUrl: base, timeout: value }),
    ] as const,
  ].map(
    ([option, expected, run]): Case => [
      `${option}: ${value}`,
      run,
      `${option} must be ${expected}, not ${JSON.stringify(value)}`,
    ],
  ),
)

/** Values that are none, or look like what a member of a plugin returns. */
const otherValues = (good: unknown): readonly unknown[] => [
  undefined,
  null,
  false,
  '',
  5,
  [good],
  new Set([good]),
  new Map([['a', good]]),
  Promise.resolve(good),
  Object.create(Object(good)),
]

const inherited = { 'tools/call': () => ({}), tool: () => ({}) }

/** Reads what plugins return when the first call is served. */
const reading = ({ declarations }: Server) => void [declarations.methods, declarations.context]

const plainFunctions = 'a plain object of functions'
const classFunctions = 'functions that return classes, such as { Counts: () => Counts }'

/** What members of plugins return. A guard that is ignored lets everybody in. */
const made: readonly Case[] = [
  ...otherValues(handle).map(
    (value): Case => [
      `plugin: interceptor returns ${shown(value)}`,
      () => plugged({ interceptor: () => value, validate: reading }),
      `"interceptor(runtime)" of the plugin "own" must be a function, not ${previewed(value)}`,
    ],
  ),
  ...(['methods', 'context'] as const).flatMap((member) =>
    [...otherValues(inherited), () => inherited, { 'tools/call': undefined }].map(
      (value): Case => [
        `plugin: ${member} returns ${shown(value)}`,
        () => plugged({ [member]: () => value, validate: reading }),
        `"${member}(runtime)" of the plugin "own" must be ${plainFunctions}, not ${previewed(value)}`,
      ],
    ),
  ),
  ...[undefined, null, [], async () => ({}), Promise.resolve({}), { offered: () => true }].map(
    (value): Case => [
      `plugin: a method is ${shown(value)}`,
      () => plugged({ methods: () => ({ 'tools/call': () => value }), validate: reading }),
      `"tools/call" of methods(runtime) of the plugin "own" must be a method with offered and answer, not ${previewed(value)}`,
    ],
  ),
  ...(
    [
      ['routes', 'routes'],
      ['templates', 'templates'],
    ] as const
  ).flatMap(([member, list]) =>
    [undefined, null, false, '', {}, new Set(), () => [], Promise.resolve([])].map(
      (value): Case => [
        `plugin: ${member} returns ${shown(value)}`,
        () => plugged({ [member]: () => value, validate: ({ declarations }: Server) => void declarations.templates }),
        `"${member}(runtime)" of the plugin "own" must be a list of ${list}, not ${previewed(value)}`,
      ],
    ),
  ),
  ...[undefined, null, false, '', [], new Set(), () => ({}), Promise.resolve({})].map(
    (value): Case => [
      `plugin: provide returns ${shown(value)}`,
      () => plugged({ provide: () => value }),
      `provide(runtime) of the plugin "own" takes an object with changes, streams, transport, sessionPart, subscriptionTopics and limiter, not ${previewed(value)}`,
    ],
  ),
  ...[
    null,
    false,
    '',
    5,
    [],
    new Map(),
    () => ({}),
    Promise.resolve({}),
    { Counts: 5 },
    { Counts: class Counts {} },
  ].map(
    (value): Case => [
      `plugin: objects is ${shown(value)}`,
      () => plugged({ objects: value }),
      `"objects" of the plugin "own" must be ${classFunctions}, not ${previewed(value)}`,
    ],
  ),
  ...[undefined, null, {}, Promise.resolve(class Counts {})].map(
    (value): Case => [
      `plugin: a function of objects returns ${shown(value)}`,
      () => plugged({ objects: { Counts: () => value } }),
      `"objects.Counts(runtime)" of the plugin "own" must be a class, not ${previewed(value)}`,
    ],
  ),
]

/** Plugins of a developer's own, and what compose() functions take. */
const pluginsAndWorkers: readonly Case[] = [
  ...['validate', 'methods', 'capabilities', 'interceptor', 'onResponse', 'routes', 'provide', 'context'].map(
    (member): Case => [
      `plugin: ${member}`,
      () => plugged({ [member]: [] }),
      `"${member}" of the plugin "own" must be a function, not []`,
    ],
  ),
  [
    'plugin: a misspelt member',
    () => plugged({ route: () => [] }),
    'the plugin "own" does not take "route" (did you mean "routes"?): it takes name, validate, extensions, methods, capabilities, templates, interceptor, context, onResponse, routes, provide, objects, onInitialize, onSubscribe, onUnsubscribe and onSessionEnd',
  ],
  [
    'plugin: extensions',
    () => plugged({ extensions: { 'com.example/a': true } }),
    '"extensions" of the plugin "own" must be settings by extension, such as { \'com.example/weather\': {} }, not an object',
  ],
  [
    'plugin: an extension without a prefix',
    () => plugged({ extensions: { weather: {} } }),
    '"extensions" of the plugin "own" must be settings by extension, such as { \'com.example/weather\': {} }, not an object',
  ],
  [
    'plugin: provide returns another limiter',
    () => plugged({ provide: () => ({ limiter: { rate: '1/m' } }) }),
    '"limiter" of provide(runtime) of the plugin "own" must be a limiter such as that of rateLimit(), not an object',
  ],
  [
    'plugin: provide returns a misspelt member',
    () => plugged({ provide: () => ({ limit: {} }) }),
    'provide(runtime) of the plugin "own" does not take "limit" (did you mean "limiter"?): it takes changes, streams, transport, sessionPart, subscriptionTopics and limiter',
  ],
  [
    'plugins: two that add one member to ctx',
    () => {
      const context = () => ({ confirm: () => async () => true })
      const validate = ({ declarations }: Server) => void declarations.context
      return served({ plugins: [loose({ name: 'one', context }), loose({ name: 'two', context, validate })] })
    },
    'serve() has two plugins that add ctx.confirm: remove or rename one',
  ],
  [
    'plugin: provide returns other changes',
    () => plugged({ provide: () => ({ changes: [] }) }),
    '"changes" of provide(runtime) of the plugin "own" must be an object with publish, setEnabled and enabledOverrides, not []',
  ],
  [
    'route: nothing',
    () => routed(undefined),
    'a route of the plugin "own" takes an object with path, methods and handle, not undefined',
  ],
  [
    'route: a misspelt member',
    () => routed({ path: '/x', method: ['GET'], handle }),
    'a route of the plugin "own" does not take "method" (did you mean "methods"?): it takes path, methods and handle',
  ],
  ...[5, 'metrics', '/x(', '/x/:y', '/*', '/a/../b', '//x', '/a b', '/x?y', '/x+', '/$'].map(
    (path): Case => [
      `route: the path ${path}`,
      () => routed({ path, methods: ['GET'], handle }),
      `"path" of a route of the plugin "own" must be ${pathExpected}, not ${JSON.stringify(path)}`,
    ],
  ),
  [
    'route: no methods',
    () => routed({ path: '/x', handle }),
    `"methods" of a route of the plugin "own" must be ${routeMethodsExpected}, not undefined`,
  ],
  [
    'route: an empty list of methods',
    () => routed({ path: '/x', methods: [], handle }),
    `"methods" of a route of the plugin "own" must be ${routeMethodsExpected}, not []`,
  ],
  [
    'route: a text for methods',
    () => routed({ path: '/x', methods: 'GET', handle }),
    `"methods" of a route of the plugin "own" must be ${routeMethodsExpected}, not "GET"`,
  ],
  [
    'route: methods that routes do not have',
    () => routed({ path: '/x', methods: ['DELETE', 'get'], handle }),
    `"methods" of a route of the plugin "own" must be ${routeMethodsExpected}, not ["DELETE", "get"]`,
  ],
  [
    'route: no handler',
    () => routed({ path: '/x', methods: ['GET'] }),
    '"handle" of a route of the plugin "own" must be a function, not undefined',
  ],
  ...[undefined, null, 5, '/mcp', {}, { fetch: true }, Promise.resolve()].map(
    (value): Case => [
      `combine: ${value}`,
      () => combine(handle, loose(value)),
      `"workers[1]" of combine() must be ${workerExpected}, not ${shown(value)}`,
    ],
  ),
  [
    'combine: a server',
    () => combine(loose(newServer())),
    '"workers[0]" of combine() is a server, not a Worker: pass serve(server)',
  ],
  [
    'routeHandler: an app',
    () => routeHandler(loose({ fetch: handle })),
    `"worker" of routeHandler() must be ${servedExpected}, not an object`,
  ],
  [
    'routeHandler: a function',
    () => routeHandler(loose(handle)),
    `"worker" of routeHandler() must be ${servedExpected}, not a function`,
  ],
  [
    'routeHandler: a server',
    () => routeHandler(loose(newServer())),
    '"worker" of routeHandler() is a server, not a Worker: pass serve(server)',
  ],
  [
    'rpcEntrypoint: nothing',
    () => rpcEntrypoint(loose()),
    `"worker" of rpcEntrypoint() must be ${servedExpected}, not undefined`,
  ],
  [
    'rpcEntrypoint: a server',
    () => rpcEntrypoint(loose(newServer())),
    '"worker" of rpcEntrypoint() is a server, not a Worker: pass serve(server)',
  ],
  [
    'rpcEntrypoint: a relative URL',
    () => rpcEntrypoint(served({}), { url: '/mcp' }),
    '"url" of rpcEntrypoint() must be a URL such as "https://mcp.example.com/mcp", not "/mcp"',
  ],
  [
    'routeByHost: nothing',
    () => routeByHost(loose()),
    '"workers" of routeByHost() must be an object of Workers by host, not undefined',
  ],
  [
    'routeByHost: no Worker',
    () => routeByHost(loose({ 'a.example': 5 })),
    `"a.example" of routeByHost() must be ${workerExpected}, not 5`,
  ],
  [
    'routeByHost: a server',
    () => routeByHost(loose({ 'a.example': newServer() })),
    '"a.example" of routeByHost() is a server, not a Worker: pass serve(server)',
  ],
  ['events: no list', () => events(loose({})), 'events() takes a list of events: events([event(…), …])'],
  ['events: twice', () => events([published, published]), 'Two events have the name "a": rename one'],
  [
    'events: misspelt',
    () => events([published], loose({ maxTTL: '1d' })),
    'events() does not take "maxTTL" (did you mean "maxTtl"?): it takes ttl, maxTtl, maxSubscriptions, maxWaiting, timeout and log',
  ],
  [
    'events: a log without a bound',
    () => events([published], { log: { maxEvents: 100_001 } }),
    '"log.maxEvents" of events() must be a whole number from 1 to 100000, not 100001',
  ],
  [
    'events: a short log',
    () => events([published], { log: { maxAge: '59s' } }),
    '"log.maxAge" of events() must be at least 1 minute',
  ],
  [
    'events: a long timeout',
    () => events([published], { timeout: '31s' }),
    '"timeout" of events() must be at most 30 s',
  ],
  [
    'eventsEntrypoint: no event',
    () => eventsEntrypoint({ orderPaid: loose(5) }),
    '"orderPaid" of eventsEntrypoint() must be an event that event() returned, not 5',
  ],
  [
    'eventsEntrypoint: a reserved name',
    () => eventsEntrypoint({ fetch: event('a', { payloadSchema: z.object({}) }) }),
    'eventsEntrypoint() cannot have a method "fetch": rename the event there',
  ],
  [
    'fromWebhook: unknown provider',
    () => fromWebhook(loose('gitlab'), loose({})),
    '"provider" of fromWebhook() must be stripe, github or standard-webhooks, not "gitlab"',
  ],
  [
    'fromWebhook: no secret',
    () => fromWebhook('stripe', loose({ path: '/stripe', on() {} })),
    '"secret" of fromWebhook() must be a function, not undefined',
  ],
  [
    'fromWebhook: a secret that is no function',
    () => fromWebhook('github', loose({ path: '/github', secret: 'x', on() {} })),
    '"secret" of fromWebhook() must be a function, not "x"',
  ],
  [
    'fromWebhook: tenants that differ by path',
    () =>
      served({
        tenants: tenants('/{tenant}/mcp', () => undefined),
        plugins: [fromWebhook('github', { path: '/github', secret: () => 'x', on() {} })],
      }),
    'The tenants of this endpoint differ by path, so "/github" of fromWebhook() has no address: let them differ by host, or receive the webhooks with a serve() of its own',
  ],
  ['tenants: no pattern', () => tenants(loose(5), () => undefined), '"pattern" of tenants() must be a string, not 5'],
  [
    'tenants: no function',
    () => tenants('/{tenant}/mcp', loose()),
    '"find" of tenants() must be a function, not undefined',
  ],
  [
    'tenants: no {tenant}',
    () => tenants('/mcp', () => undefined),
    'tenants(): "/mcp" needs one {tenant}, as in "/{tenant}/mcp" or "{tenant}.example.com"',
  ],
  [
    'tenants: two {tenant}',
    () => tenants('/{tenant}/{tenant}/mcp', () => undefined),
    'tenants(): "/{tenant}/{tenant}/mcp" needs one {tenant}, as in "/{tenant}/mcp" or "{tenant}.example.com"',
  ],
  [
    'tenants: {tenant} last',
    () => tenants('/mcp/{tenant}', () => undefined),
    'tenants(): put {tenant} before the last part of "/mcp/{tenant}", as in "/{tenant}/mcp"',
  ],
  ...[
    '{tenant}.example.com/mcp',
    'https://{tenant}.example.com',
    '{tenant}.localhost:8787',
    '/{tenant}//mcp',
    '/a/../{tenant}/mcp',
    '/{tenant}/m*',
    '/{tenant}/mcp/',
    '*.{tenant}.example.com',
  ].map(
    (pattern): Case => [
      `tenants: ${pattern}`,
      () => tenants(pattern, () => undefined),
      `tenants(): no request can have the address "${pattern}": write a path or a host without scheme and port, as in "/{tenant}/mcp" or "{tenant}.example.com"`,
    ],
  ),
  [
    'tenants: a function',
    () => served({ tenants: loose(() => undefined) }),
    '"tenants" of serve() must be what tenants() returns, not a function',
  ],
  [
    'tenants: an auth for all of them',
    () => served({ auth, tenants: tenants('/{tenant}/mcp', () => undefined) }),
    'serve() has auth and tenants: return the auth of each tenant from tenants()',
  ],
  [
    'tenants: two paths',
    () => served({ path: '/mcp', tenants: tenants('/{tenant}/mcp', () => undefined) }),
    'serve() has the path "/mcp" and tenants with the path "/{tenant}/mcp": leave out path',
  ],
]

/** Origins and hosts that would never match. */
const broken: readonly Case[] = [
  [
    'origins: a page',
    () => served({ origins: ['https://a.example/x'] }),
    'Invalid origin "https://a.example/x": write "https://a.example"',
  ],
  [
    'hosts: a URL',
    () => served({ hosts: ['https://mcp.example.com'] }),
    'Invalid host name "https://mcp.example.com": write "mcp.example.com"',
  ],
  [
    'hosts: a port',
    () => served({ hosts: ['mcp.example.com:8080'] }),
    'Invalid host name "mcp.example.com:8080": write "mcp.example.com"',
  ],
  [
    'hosts: upper case',
    () => served({ hosts: ['MCP.example.com'] }),
    'Invalid host name "MCP.example.com": write "mcp.example.com"',
  ],
]

/** Values that a server would start with, and not serve. */
const unusable: readonly Case[] = [
  ...['/sse', '/messages', '/notes/sse'].map(
    (path): Case => [
      `path: ${path}`,
      () => served({ path, plugins: [sessions()] }),
      `The path "${path}" of serve() is one of HTTP+SSE: use another one, such as "/mcp"`,
    ],
  ),
  ...['/a/../mcp', '//mcp', '/./mcp'].map(
    (path): Case => [
      `path: ${path}`,
      () => served({ path }),
      `"path" of serve() must be ${pathExpected}, not "${path}"`,
    ],
  ),
  ...['maxBodyBytes', 'bodyTimeoutMs'].map(
    (limit): Case => [
      `limits: ${limit}`,
      () => served({ limits: { [limit]: 0 } }),
      `"limits.${limit}" of serve() must be a number of 1 or more, not 0`,
    ],
  ),
  ...[0, Number.POSITIVE_INFINITY].map(
    (depth): Case => [
      `limits: maxJsonDepth ${depth}`,
      () => served({ limits: { maxJsonDepth: depth } }),
      `"limits.maxJsonDepth" of serve() must be a whole number of 1 or more, not ${depth}`,
    ],
  ),
  ['hosts: all', () => served({ hosts: ['*'] }), 'Invalid host name "*": write "mcp.example.com"'],
  [
    'hosts: a wildcard',
    () => served({ hosts: ['*.example.com'] }),
    'Invalid host name "*.example.com": write "example.com"',
  ],
  [
    'origins: a wildcard',
    () => served({ origins: ['https://*.example.com'] }),
    'Invalid origin "https://*.example.com": write "https://example.com"',
  ],
  [
    'durableObjects: one name for two classes',
    () => served({ plugins: [tasks()], durableObjects: { names: { McpSession: 'Mine', McpTask: 'Mine' } } }),
    'serve() has two classes named Mine: remove or rename one',
  ],
  [
    'extension: settings that JSON cannot carry',
    () => extension('com.example/a', { settings: { pages: 1n } }),
    '"settings" of extension() must be an object of JSON values, not an object',
  ],
  [
    'extension: a method that sessions answer',
    () => extension('com.example/a', { methods: { initialize: () => ({}) } }),
    'The extension "com.example/a" has the method "initialize", which the server answers itself: rename it',
  ],
]

/** What does not count as a mistake. */
const own: Auth = { authenticate: async () => undefined }
const right: readonly Case[] = [
  ['undefined members', () => served({ auth: undefined, cors: undefined }), ''],
  [
    'an auth of a class',
    () =>
      served({
        auth: new (class {
          authenticate() {}
        })(),
      }),
    '',
  ],
  ['an auth of one function', () => serve(newServer(), { auth: own, plugins: [{ name: 'nothing' }] }), ''],
  ['every host', () => served({ ...policies.public }), ''],
  ['named hosts', () => served({ hosts: ['mcp.example.com', 'localhost', '[::1]'] }), ''],
]

const messageOf = (run: () => unknown): string => {
  try {
    run()
    return ''
  } catch (problem) {
    return (problem as Error).message
  }
}

/** What cannot work. */
const impossible: readonly Case[] = [
  [
    'server.tool: twice',
    () => {
      const server = newServer()
      server.tool('echo', { description: 'Echoes' }, () => 'a')
      server.tool('echo', { description: 'Echoes' }, () => 'b')
    },
    'The tool "echo" is registered twice: rename one, or use its module with a prefix',
  ],
  [
    'server.tool: a JSON Schema without its checker',
    () => newServer().tool('echo', { description: 'Echoes', inputSchema: { type: 'object' } }, () => 'a'),
    'The inputSchema of tool "echo" is a plain JSON Schema: write createServer({ …, jsonSchema }), with jsonSchema of "edgemcp/json-schema"',
  ],
  [
    'serve: an origin with a slash',
    () => serve(newServer(), { origins: ['https://app.example.com/'] }),
    'Invalid origin "https://app.example.com/": write "https://app.example.com"',
  ],
  [
    'serve: a host with a port',
    () => serve(newServer(), { hosts: ['mcp.example.com:8787'] }),
    'Invalid host name "mcp.example.com:8787": write "mcp.example.com"',
  ],
  [
    'signIn: two providers that may state any tenant',
    () => signIn({ with: [google(client), oidc({ ...client, issuer: 'https://a.example', tenantClaim: 'org_id' })] }),
    '"google" of signIn() may state any tenant, also those of "oidc": list its own, as in tenants: [\'acme\'], or name the tenant of each user, as in tenant: ({ provider, tenant }) => tenant && provider + \':\' + tenant',
  ],
  [
    'signIn: an issuer that may state the tenant of another one',
    () =>
      signIn({
        with: gitHub,
        enterprise: {
          issuers: [
            { name: 'acme', issuer: 'https://acme.example', tenant: 'acme' },
            { name: 'globex', issuer: 'https://globex.example', tenantClaim: 'org_id' },
          ],
        },
      }),
    '"globex" of signIn() may state any tenant, also those of "acme": list its own, as in tenants: [\'acme\'], or name the tenant of each user, as in tenant: ({ provider, tenant }) => tenant && provider + \':\' + tenant',
  ],
  [
    'signIn: users without a tenant, where one is required',
    () => signIn({ with: [google(client), gitHub], requireTenant: true }),
    'signIn() has requireTenant, but users of "github" have no tenant: name it, as in tenant: ({ groups }) => groups',
  ],
  [
    'signIn: two providers of one name',
    () => signIn({ with: [gitHub, gitHub] }),
    `Two providers of signIn() have the name "github": give one another name, as in github({ name: 'work', … })`,
  ],
  [
    'apiKeys: a misspelt option',
    () => apiKeys(loose({ prefx: 'notes' })),
    'apiKeys() does not take "prefx" (did you mean "prefix"?): it takes prefix, header, audience, maxPerOwner, requireScopesEverywhere, requiredScopes, impliedScopes, allowAnonymous, requireTenant, tokenCacheMs, storedClaims and reauthorize',
  ],
  ...['', 'a-b', '1a', '_a', 'a__b', 'a_', 'a'.repeat(33)].map(
    (prefix): Case => [
      `apiKeys: the prefix "${prefix}"`,
      () => apiKeys({ prefix }),
      `"prefix" of apiKeys() must be 1 to 32 letters, digits and single '_', such as 'notes_live', not ${JSON.stringify(prefix)}`,
    ],
  ),
  [
    'apiKeys: the header Authorization',
    () => apiKeys({ header: 'authorization' }),
    `"header" of apiKeys() must be the name of a header, such as 'X-API-Key', not "authorization"`,
  ],
  [
    'signIn: two endpoints',
    () => {
      const auth = signIn({ with: gitHub })
      for (const path of ['/a/mcp', '/b/mcp']) serve(newServer(), { path, auth })
    },
    'Two endpoints have the same signIn(): call signIn() for each of them',
  ],
  [
    'apiKeys: two endpoints',
    () => {
      const auth = apiKeys()
      for (const path of ['/a/mcp', '/b/mcp']) serve(newServer(), { path, auth })
    },
    "Two endpoints have the same apiKeys(): call it for each of them, or name the audience of the keys, as in apiKeys({ audience: 'notes' })",
  ],
  [
    'apiKeys: one prefix that starts with that of other tokens',
    () =>
      oneOf(
        apiKeys({ prefix: 'k' }),
        bearer({ issuer: 'https://a.example', introspection: { clientId: 'a', clientSecret: 'b', tokenPrefix: 'k' } }),
      ),
    'Two auths of oneOf() have the same credentials, {"prefix":"k_"} and {"prefix":"k"}: each credential must be of one auth',
  ],
  [
    'oneOf: no auth',
    () => Reflect.apply(oneOf, undefined, []),
    'oneOf() needs at least one auth, such as bearer({ issuer })',
  ],
  [
    'oneOf: an auth that was not called',
    () => oneOf(loose(bearer)),
    '"argument 1" of oneOf() must be an auth such as bearer({ issuer }), not a function',
  ],
  [
    'oneOf: an auth without credentials',
    () =>
      oneOf(
        bearer({ issuer: 'https://a.example' }),
        oauthProvider(() => undefined),
      ),
    'Argument 2 of oneOf() does not describe its credentials: give your own auth the member credentials. oauthProvider() cannot be combined',
  ],
  [
    'oneOf: the header Authorization',
    () => oneOf({ credentials: [{ header: 'authorization' }], authenticate: async () => undefined }),
    'The credentials of an auth of oneOf() name the header Authorization: describe its bearer tokens',
  ],
  [
    'oneOf: an empty prefix',
    () => oneOf({ credentials: [{ prefix: '' }], authenticate: async () => undefined }),
    "The credentials of an auth of oneOf() have an empty prefix: write { tokens: 'any' }",
  ],
  [
    'oneOf: one issuer twice',
    () => oneOf(bearer({ issuer: 'https://a.example' }), bearer({ issuer: 'https://a.example' })),
    'Two auths of oneOf() have the same credentials, {"issuer":"https://a.example"} and {"issuer":"https://a.example"}: each credential must be of one auth',
  ],
  [
    'oneOf: one prefix that starts with the other',
    () =>
      oneOf(
        bearer({ issuer: 'https://a.example', introspection: { clientId: 'a', clientSecret: 'b', tokenPrefix: 'k_' } }),
        { credentials: [{ prefix: 'k_live' }], authenticate: async () => undefined },
      ),
    'Two auths of oneOf() have the same credentials, {"prefix":"k_"} and {"prefix":"k_live"}: each credential must be of one auth',
  ],
  [
    'oneOf: the issuers of two auths are not known',
    () => oneOf(bearer({ verify: () => undefined }), signIn({ with: gitHub })),
    'Two auths of oneOf() may have principals of any issuer: set origin of signIn(), name the issuers of your own auth, or verify with one bearer({ verify })',
  ],
  [
    'oneOf: the issuer of another auth',
    () =>
      oneOf(bearer({ issuer: 'https://a.example' }), {
        credentials: [{ prefix: 'k_' }],
        issuers: ['https://a.example'],
        authenticate: async () => undefined,
      }),
    'Two auths of oneOf() have the issuer "https://a.example": combine them in one auth',
  ],
  [
    'serve: two plugins with one class',
    () => serve(newServer(), { plugins: [tasks(), tasks()] }),
    'serve() has two classes named McpTask: remove or rename one',
  ],
]

const cases = [
  ...impossible,
  ...misspelt,
  ...brief,
  ...wrong,
  ...made,
  ...pluginsAndWorkers,
  ...right,
  ...broken,
  ...unusable,
]

const answer = cases.map(([title, run, expected]) => ({ title, expected, said: messageOf(run) }))

export default { fetch: () => Response.json(answer) }
