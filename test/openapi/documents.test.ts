/** Documents whose names, references and arguments are not as simple as they could be. */
import { describe, expect, test } from 'vitest'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { type Operation, openApiTools, parseOpenApi } from '../../worker/plugins/openapi/index.ts'
import { newServer } from '../engine/stage.ts'

type Json = Record<string, unknown>

const json = (schema: unknown, required = true) => ({ required, content: { 'application/json': { schema } } })
const parameter = (place: string, name: string, more: Json = {}) => ({
  in: place,
  name,
  required: place === 'path',
  schema: { type: 'string' },
  ...more,
})
/** The operation that posts this schema, and whether arguments fit its input. */
function posting(schema: unknown, document: Json = {}, openapi = '3.1.0') {
  const paths = { '/a': { post: { operationId: 'a', requestBody: json(schema) } } }
  const [operation] = parseOpenApi({ openapi, paths, ...document })
  const { input } = operation as Operation
  const issuesOf = jsonSchema(input, 'input')
  return { input, isValid: (body: unknown) => issuesOf({ body }).length === 0 }
}
const namesOf = (paths: Json) => parseOpenApi({ openapi: '3.1.0', paths }).map(({ name }) => name)

describe('names of operations', () => {
  test('without ASCII letters are not empty, and do not collide', () => {
    const names = namesOf({
      '/get': { get: { operationId: '取得' }, post: { operationId: '作成' } },
      '/猫': { get: {} },
      '/犬': { get: {} },
      '/empty': { get: { operationId: '' }, put: { operationId: '---' } },
    })
    expect(new Set(names).size).toBe(6)
    for (const name of names) expect(name).toMatch(/^[\w.-]{1,128}$/)
  })

  test('that differ only in characters that tools cannot have do not collide', () => {
    const names = namesOf({
      '/a': {
        get: { operationId: 'list_pets' },
        put: { operationId: 'list pets' },
        post: { operationId: 'list/pets' },
      },
    })
    expect(names).toEqual([
      'list_pets',
      expect.stringMatching(/^list_pets_\w+$/),
      expect.stringMatching(/^list_pets_\w+$/),
    ])
    expect(new Set(names).size).toBe(3)
  })

  test('have at most 64 characters, which APIs of models accept, and do not collide', () => {
    const long = 'a'.repeat(64)
    const names = namesOf({ '/a': { get: { operationId: `${long}b` }, put: { operationId: `${long}c` } } })
    expect(new Set(names).size).toBe(2)
    for (const name of names) expect(name.length).toBeLessThanOrEqual(64)
  })

  test('do not depend on their order', () => {
    const paths = { '/猫': { get: { operationId: '猫' } }, '/犬': { get: { operationId: '犬' } } }
    const reversed = Object.fromEntries(Object.entries(paths).reverse())
    expect(namesOf(reversed)).toEqual(namesOf(paths).reverse())
  })
})

describe('schemas of the same name', () => {
  test('in several places of a document are resolved separately', () => {
    const { isValid } = posting(
      {
        type: 'object',
        properties: {
          one: { $ref: '#/components/schemas/A' },
          two: { $ref: '#/components/schemas/A_2' },
          three: { $ref: '#/components/schemas/B/$defs/A' },
          four: { $ref: '#/components/schemas/%E7%8C%AB' },
          five: { $ref: '#/components/schemas/%E7%8A%AC' },
        },
      },
      {
        components: {
          schemas: {
            A: { const: 1 },
            A_2: { const: 2 },
            B: { $defs: { A: { const: 3 } } },
            猫: { const: 4 },
            犬: { const: 5 },
          },
        },
      },
    )
    expect(isValid({ one: 1, two: 2, three: 3, four: 4, five: 5 })).toBe(true)
    for (const wrong of [{ one: 3 }, { two: 3 }, { three: 2 }, { three: 1 }, { four: 5 }, { five: 4 }]) {
      expect(isValid(wrong), JSON.stringify(wrong)).toBe(false)
    }
  })

  test.each([
    ['with references from the schema that has them', {}],
    ['in schemas with an $id', { $id: 'https://schemas.example/one' }],
  ])('under $defs of several schemas are resolved separately, %s', (_, more) => {
    const own = (value: string, id: Json) => ({
      ...id,
      type: 'object',
      properties: { item: { $ref: '#/$defs/Item' } },
      $defs: { Item: { $ref: '#/$defs/Value' }, Value: { const: value } },
    })
    const { isValid } = posting(
      { type: 'object', properties: { a: { $ref: '#/components/schemas/A' }, b: own('b', more) } },
      { components: { schemas: { A: own('a', 'id' in more ? { $id: 'https://schemas.example/two' } : more) } } },
    )
    expect(isValid({ a: { item: 'a' }, b: { item: 'b' } })).toBe(true)
    expect(isValid({ a: { item: 'b' } })).toBe(false)
    expect(isValid({ b: { item: 'a' } })).toBe(false)
  })
})

describe('references to names of schemas', () => {
  const Node = {
    $anchor: 'node',
    type: 'object',
    properties: { next: { $ref: '#node' }, tag: { $ref: 'tag.json#name' } },
  }
  const Tag = { $id: 'tag.json', type: 'object', $defs: { n: { $anchor: 'name', type: 'string' } } }
  const Other = { $id: 'https://schemas.example/other', $defs: { n: { $anchor: 'node', type: 'number' } } }
  const components = { schemas: { Other, Node, Tag } }

  test.each<[reference: string, valid: unknown, invalid: unknown]>([
    ['#node', { next: { next: {}, tag: 'a' } }, { next: { tag: 1 } }],
    ['tag.json', {}, 'a'],
    ['tag.json#name', 'a', {}],
    ['tag.json#/$defs/n', 'a', {}],
    ['https://schemas.example/other#node', 1, {}],
  ])('%s', (reference, valid, invalid) => {
    const { isValid } = posting({ $ref: reference }, { components })
    expect([valid, invalid].map(isValid)).toEqual([true, false])
  })

  test('are resolved in the parameters of an operation, and in forms', () => {
    const List = { $anchor: 'list', type: 'array', items: { type: 'string' } }
    const schema = { $anchor: 'form', type: 'object', properties: { a: { $ref: '#list' } } }
    const parameters = [parameter('query', 'q', { schema: { $ref: '#list' }, explode: false })]
    const form = { content: { 'application/x-www-form-urlencoded': { schema: { $ref: '#form' } } } }
    const paths = { '/a': { post: { parameters, requestBody: form } } }
    const [found] = parseOpenApi({ openapi: '3.1.0', paths, components: { schemas: { List, Form: schema } } })
    expect(found?.parameters.q).toEqual({ in: 'query', name: 'q', separator: ',' })
    expect(found?.bodyType).toBe('application/x-www-form-urlencoded')
  })
})

describe('members beside a $ref', () => {
  const components = { schemas: { Name: { type: 'string' } } }
  const schema = {
    type: 'object',
    properties: { name: { $ref: '#/components/schemas/Name', minLength: 2, description: 'Short' } },
  }

  test('apply to a schema in OpenAPI 3.1', () => {
    const { isValid, input } = posting(schema, { components })
    expect(isValid({ name: 'ab' })).toBe(true)
    expect(isValid({ name: 'a' })).toBe(false)
    expect(isValid({ name: 12 })).toBe(false)
    expect(JSON.stringify(input)).toContain('Short')
  })

  test('are ignored in a schema in OpenAPI 3.0', () => {
    expect(posting(schema, { components }, '3.0.3').isValid({ name: 'a' })).toBe(true)
  })

  test('with readOnly hide a property', () => {
    const readOnly = {
      type: 'object',
      required: ['id'],
      properties: { id: { $ref: '#/components/schemas/Name', readOnly: true } },
    }
    const { input, isValid } = posting(readOnly, { components })
    expect(isValid({})).toBe(true)
    expect(JSON.stringify(input)).not.toContain('"id"')
  })

  test.each(['3.0.3', '3.1.0'])('do not replace the description of a parameter in OpenAPI %s', (openapi) => {
    const described = parameter('query', 'name', {
      schema: { $ref: '#/components/schemas/Name' },
      description: 'Of a pet',
    })
    const [operation] = parseOpenApi({ openapi, components, paths: { '/a': { get: { parameters: [described] } } } })
    expect(operation?.input.properties).toMatchObject({ name: { description: 'Of a pet' } })
  })

  test('override the description of a parameter in OpenAPI 3.1', () => {
    const parameters = [{ $ref: '#/components/parameters/Name', description: 'Of a dog' }]
    const shared = { parameters: { Name: parameter('query', 'name', { description: 'Of a pet' }) } }
    const inputOf = (openapi: string) =>
      parseOpenApi({ openapi, components: shared, paths: { '/a': { get: { parameters } } } })[0]?.input.properties
    expect(inputOf('3.1.0')).toMatchObject({ name: { description: 'Of a dog' } })
    expect(inputOf('3.0.3')).toMatchObject({ name: { description: 'Of a pet' } })
  })

  test('of a path add operations', () => {
    const document = {
      openapi: '3.1.0',
      paths: { '/a': { $ref: '#/components/pathItems/A', put: { operationId: 'put' } } },
      components: { pathItems: { A: { get: { operationId: 'get' } } } },
    }
    expect(
      parseOpenApi(document)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['get', 'put'])
  })
})

describe('properties that only responses have', () => {
  const components = {
    schemas: {
      Id: { type: 'string', readOnly: true },
      Entity: { type: 'object', required: ['id'], properties: { id: { $ref: '#/components/schemas/Id' } } },
      Demanding: { required: ['id', 'name'] },
    },
  }
  const own = { type: 'object', properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } } }
  const referring = { type: 'object', properties: { id: { $ref: '#/components/schemas/Id' } } }

  test.each<[what: string, schema: Json]>([
    ['behind a reference', { ...referring, required: ['id', 'name'] }],
    ['in another branch of allOf', { allOf: [own, { required: ['id', 'name'] }] }],
    ['in a branch of allOf, behind a reference', { allOf: [own, { $ref: '#/components/schemas/Demanding' }] }],
    ['beside allOf', { allOf: [own], required: ['id', 'name'] }],
    ['in allOf beside the property', { ...own, allOf: [{ required: ['id', 'name'] }] }],
    ['in anyOf beside the property', { ...own, anyOf: [{ required: ['id', 'name'] }] }],
    [
      'of a referred schema',
      { allOf: [{ $ref: '#/components/schemas/Entity' }, { type: 'object', required: ['id', 'name'] }] },
    ],
  ])('are not required %s', (_, schema) => {
    for (const openapi of ['3.0.3', '3.1.0']) {
      const { isValid } = posting(schema, { components }, openapi)
      expect([isValid({ name: 'x' }), isValid({})], openapi).toEqual([true, false])
    }
  })

  const demanding = { $ref: '#/components/schemas/Demanding' }
  const closed = { ...own, additionalProperties: false }
  const writable = { type: 'object', properties: { id: { type: 'string' }, kind: { const: 'w' } } }
  test.each<[what: string, schema: Json]>([
    ['in dependentRequired', { ...closed, required: ['name'], dependentRequired: { name: ['id'] } }],
    ['in dependentRequired of allOf', { allOf: [closed, { dependentRequired: { name: ['id'] } }], required: ['name'] }],
    ['in a dependent schema', { ...closed, required: ['name'], dependentSchemas: { name: { required: ['id'] } } }],
    [
      'in a dependent schema, behind a reference',
      { ...closed, required: ['name'], dependentSchemas: { name: demanding } },
    ],
    ['in oneOf, behind a reference', { ...closed, oneOf: [demanding] }],
    ['in anyOf of allOf, behind a reference', { ...closed, allOf: [{ anyOf: [demanding] }] }],
    ['in anyOf of a referred schema', { ...closed, allOf: [{ $ref: '#/components/schemas/Choice' }] }],
    ['in else', { ...closed, if: { required: ['x'] }, else: demanding }],
    [
      'beside the alternatives that have them',
      { oneOf: [closed, { ...writable, required: ['kind'] }], required: ['id', 'name'] },
    ],
    [
      'beside alternatives with a discriminator',
      { discriminator: { propertyName: 'kind' }, oneOf: [closed], required: ['id', 'name'] },
    ],
    [
      'beside a dependent schema that has them',
      { type: 'object', dependentSchemas: { name: closed }, required: ['id', 'name'] },
    ],
    ['in a condition', { ...closed, if: { required: ['id'] }, else: { required: ['name'] } }],
    ['in the condition of not', { ...closed, not: { required: ['id'] }, required: ['name'] }],
    ['in the condition of not, which declares them', { not: { ...own, required: ['id'] }, required: ['name'] }],
    ['in the condition of not, behind a reference', { ...closed, not: demanding, required: ['name'] }],
  ])('need not be sent: %s', (_, schema) => {
    const Choice = { anyOf: [demanding, { required: ['id', 'x'] }] }
    const { isValid } = posting(schema, { components: { schemas: { ...components.schemas, Choice } } })
    expect([isValid({ name: 'x' }), isValid({})]).toEqual([true, false])
  })

  test('need not be sent in a property of a condition', () => {
    const { isValid } = posting({ not: { properties: { a: { ...own, required: ['id'] } } } })
    expect([isValid({ a: {} }), isValid({})]).toEqual([true, false])
  })

  test('are required of a subtype whose siblings have them', () => {
    const Base = { oneOf: ['A', 'B'].map((name) => ({ $ref: `#/components/schemas/${name}` })), discriminator: {} }
    const extending = (schema: Json) => ({ allOf: [{ $ref: '#/components/schemas/Base' }, schema] })
    const schemas = { Base, A: extending(closed), B: { ...extending(writable), required: ['id', 'kind'] } }
    const { isValid } = posting({ $ref: '#/components/schemas/Base' }, { components: { schemas } })
    expect(isValid({ name: 'x' })).toBe(true)
    expect(isValid({ id: 'a', kind: 'w' })).toBe(true)
    expect(isValid({ kind: 'w' })).toBe(false)
  })

  test('are sent where another alternative has them', () => {
    const { isValid } = posting({
      oneOf: [closed, { ...writable, required: ['id', 'kind'], additionalProperties: false }],
    })
    expect(isValid({ id: 'a', kind: 'w' })).toBe(true)
    expect(isValid({ kind: 'w' })).toBe(false)
    expect(isValid({ id: 'a', name: 'x' })).toBe(false)
  })

  test('stay required where the same schema is used without them', () => {
    const schema = { type: 'object', properties: { one: { allOf: [own, demanding] }, two: demanding } }
    const { isValid } = posting(schema, { components })
    expect(isValid({ one: { name: 'x' }, two: { id: 'a', name: 'x' } })).toBe(true)
    expect(isValid({ one: { name: 'x' }, two: { name: 'x' } })).toBe(false)
  })

  test('may be in schemas that refer to themselves', () => {
    const Node = {
      required: ['id', 'name'],
      properties: { id: { readOnly: true }, next: { $ref: '#/components/schemas/Node' } },
      allOf: [{ $ref: '#/components/schemas/Node' }, { properties: { name: {} } }],
    }
    const { input } = posting({ $ref: '#/components/schemas/Node' }, { components: { schemas: { Node } } })
    expect(JSON.stringify(input)).not.toContain('"id"')
  })
})

describe('schemas of an operation', () => {
  const subtypes = 8
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const readOnly = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string', readOnly: true } } })
  const numbers = Array.from({ length: subtypes }, (_, index) => index)
  const Base = { required: ['kind'], properties: { kind: {} }, oneOf: numbers.map((index) => reference(`T${index}`)) }

  test.each<[what: string, schemas: [name: string, schema: Json][]]>([
    [
      'subtypes that refer to their base',
      [
        ['Base', Base],
        ...numbers.map((index): [string, Json] => [
          `T${index}`,
          { allOf: [reference('Base'), readOnly(`id${index}`)] },
        ]),
      ],
    ],
    [
      'alternatives in alternatives',
      [
        ['Base', { anyOf: [reference('A0'), reference('B0')] }],
        ...numbers.flatMap((index) =>
          ['A', 'B'].map((name): [string, Json] => [
            `${name}${index}`,
            {
              allOf: [readOnly(`${name}${index}`)],
              ...(index < subtypes - 1 && { anyOf: [reference(`A${index + 1}`), reference(`B${index + 1}`)] }),
            },
          ]),
        ),
      ],
    ],
  ])('have few definitions for read-only properties of %s', (_, schemas) => {
    const { input } = posting(reference('Base'), { components: { schemas: Object.fromEntries(schemas) } }, '3.0.3')
    expect(Object.keys(input.$defs as Json).length).toBeLessThanOrEqual(2 * schemas.length)
  })

  const wide = Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`S${index}`, { type: 'string' }]))
  const deep = JSON.parse(`${'{"items":'.repeat(3000)}{}${'}'.repeat(3000)}`)
  test.each<[what: string, schema: Json]>([
    [
      'has too many',
      { type: 'object', properties: Object.fromEntries(Object.keys(wide).map((name) => [name, reference(name)])) },
    ],
    ['nests them too deeply', deep],
  ])('an operation that %s is left out, and the others have tools', (_, schema) => {
    const paths = { '/a': { post: { requestBody: json(schema) }, get: {} } }
    const skipped: string[] = []
    const document = { openapi: '3.1.0', paths, components: { schemas: wide } }
    const operations = parseOpenApi(document, { onSkipped: (sentence) => skipped.push(sentence) })
    expect(operations.map(({ name }) => name)).toEqual(['get_a'])
    expect(skipped).toEqual(['POST /a, whose schemas are nested too deeply, or refer to more than 2000 others'])
  })
})

describe('lists and objects in a query', () => {
  const listed = { type: 'array', items: { type: 'integer' } }
  const components = { schemas: { List: listed, Lists: { anyOf: [{ $ref: '#/components/schemas/List' }] } } }
  const parameterOf = (schema: unknown, more: Json = {}, openapi = '3.1.0') => {
    const parameters = [parameter('query', 'ids', { schema, ...more })]
    const paths = { '/a': { get: { operationId: 'a', parameters } } }
    return parseOpenApi({ openapi, paths, components })[0]?.parameters.ids
  }

  test.each<[what: string, schema: unknown]>([
    ['a type', listed],
    ['several types', { ...listed, type: ['array', 'null'] }],
    ['items', { items: { type: 'integer' } }],
    ['anyOf', { anyOf: [listed, { type: 'null' }] }],
    ['oneOf of references', { oneOf: [{ type: 'null' }, { $ref: '#/components/schemas/List' }] }],
    ['allOf', { allOf: [listed, { maxItems: 3 }] }],
    ['a reference to anyOf', { $ref: '#/components/schemas/Lists' }],
  ])('of %s have their separator', (_, schema) => {
    const query = { in: 'query', name: 'ids' }
    expect(parameterOf(schema)).toEqual(query)
    expect(parameterOf(schema, { explode: false })).toEqual({ ...query, separator: ',' })
    expect(parameterOf(schema, { style: 'pipeDelimited' })).toEqual({ ...query, separator: '|' })
  })

  test.each<[what: string, schema: unknown]>([
    ['a type', { type: 'object' }],
    ['several types', { type: ['object', 'null'] }],
    ['additionalProperties', { additionalProperties: { type: 'string' } }],
    ['allOf', { allOf: [{ type: 'object', properties: { a: {} } }] }],
    ['anyOf', { anyOf: [{ type: 'null' }, { properties: { a: {} } }] }],
  ])('that are objects by %s are left out', (_, schema) => {
    expect(parameterOf(schema)).toBeUndefined()
  })

  test('are not taken from members beside a reference in OpenAPI 3.0', () => {
    const schema = { $ref: '#/components/schemas/List', type: 'object' }
    expect([parameterOf(schema, {}, '3.0.3'), parameterOf(schema)]).toEqual([{ in: 'query', name: 'ids' }, undefined])
  })
})

test('extensions among the paths are ignored', () => {
  expect(namesOf({ 'x-note': 'hi', 'x-empty': null, 'x-item': { get: {} }, '/a': { get: {} } })).toEqual(['get_a'])
})

describe('arguments of the same name', () => {
  const operationAt = (path: string, parameters: unknown[], more: Json = {}) =>
    parseOpenApi({
      openapi: '3.1.0',
      paths: { [path]: { post: { operationId: 'a', parameters, ...more } } },
    })[0] as Operation

  test('get their place as a prefix', () => {
    const operation = operationAt(
      '/{id}/{body}',
      [
        parameter('query', 'id'),
        parameter('path', 'id'),
        parameter('header', 'id'),
        parameter('query', 'path_id'),
        parameter('query', 'header_id'),
        parameter('path', 'body'),
        parameter('query', 'body'),
        parameter('query', 'path_body'),
      ],
      { requestBody: json({ type: 'object' }) },
    )
    const places = Object.entries(operation.parameters).map(([argument, { in: place, name }]) => [
      argument,
      place,
      name,
    ])
    expect(places).toEqual([
      ['id', 'query', 'id'],
      ['path_id', 'path', 'id'],
      ['header_id', 'header', 'id'],
      ['query_path_id', 'query', 'path_id'],
      ['query_header_id', 'query', 'header_id'],
      ['path_body', 'path', 'body'],
      ['query_body', 'query', 'body'],
      ['query_path_body', 'query', 'path_body'],
    ])
    expect(Object.keys(operation.input.properties as Json).sort()).toEqual(
      [...places.map(([name]) => name), 'body'].sort(),
    )
  })

  test('get a number when a prefix is not enough', () => {
    const parameters = ['query_id', 'id'].map((name) => parameter('header', name))
    const operation = operationAt('/a', [...parameters, parameter('query', 'id'), parameter('query', 'query_query_id')])
    expect(operation.parameters).toEqual({
      query_id: { in: 'header', name: 'query_id' },
      id: { in: 'header', name: 'id' },
      query_id_2: { in: 'query', name: 'id' },
      query_query_id: { in: 'query', name: 'query_query_id' },
    })
  })

  test('with the names of inherited members are kept', () => {
    const operation = operationAt('/a', [parameter('query', 'constructor'), parameter('query', '__proto__')])
    expect(Object.values(operation.parameters).map(({ name }) => name)).toEqual(['constructor', '__proto__'])
    expect(Object.keys(operation.parameters)).toEqual(Object.keys(operation.input.properties as Json))
    expect(Object.keys(operation.parameters)).toEqual(['constructor', 'query___proto__'])
  })

  test('merge when they are one header in two spellings', () => {
    const operation = operationAt('/a', [parameter('header', 'X-Kind'), parameter('header', 'x-kind')])
    expect(Object.values(operation.parameters)).toEqual([{ in: 'header', name: 'x-kind' }])
  })
})

describe('OpenAPI 3.2', () => {
  const form = 'application/x-www-form-urlencoded'
  const schema = { type: 'object', required: ['q'], properties: { q: { type: 'string' } } }
  const readAt = (parameters: unknown[], more: Json = {}) => {
    const left: string[] = []
    const paths = { '/a': { get: { operationId: 'a', parameters }, ...more } }
    const found = parseOpenApi({ openapi: '3.2.0', paths }, { onSkipped: (sentence) => left.push(sentence) })
    return { found, left }
  }

  test('has parameters that are the whole query string', () => {
    const { found, left } = readAt([
      {
        in: 'querystring',
        name: 'filter',
        required: true,
        description: 'What to find',
        content: { [form]: { schema } },
      },
    ])
    expect(left).toEqual([])
    expect(found).toMatchObject([
      {
        parameters: { filter: { in: 'querystring', name: 'filter' } },
        input: { required: ['filter'], properties: { filter: { ...schema, description: 'What to find' } } },
      },
    ])
  })

  test.each([
    ['JSON', { content: { 'application/json': { schema } } }],
    [
      'a form with styles of its own',
      { content: { [form]: { schema, encoding: { q: { style: 'spaceDelimited' } } } } },
    ],
    ['a form without an object', { content: { [form]: { schema: { type: 'string' } } } }],
    ['nothing', {}],
  ])('has query strings that are left out: %s', (_, more) => {
    const what = '"filter": it is serialized in a way that is not supported'
    const { found, left } = readAt([{ in: 'querystring', name: 'filter', ...more }])
    expect(found).toMatchObject([{ parameters: {} }])
    expect(left).toEqual([`GET /a without its parameter ${what}`])
  })

  test('has methods that are left out', () => {
    const { found, left } = readAt([], { query: {}, trace: {}, additionalOperations: { LINK: {}, COPY: {} } })
    expect(found.map(({ name }) => name)).toEqual(['a'])
    expect(left).toEqual(
      ['QUERY', 'TRACE', 'LINK', 'COPY'].map((method) => `${method} /a, whose method is not supported`),
    )
  })
})

test('a parameter in an unknown place is left out', () => {
  const left: string[] = []
  const parameters = [parameter('formData', 'file'), { name: 'nowhere' }]
  const document = { openapi: '3.1.0', paths: { '/a': { get: { operationId: 'a', parameters } } } }
  expect(parseOpenApi(document, { onSkipped: (sentence) => left.push(sentence) })).toMatchObject([{ parameters: {} }])
  expect(left).toEqual([
    'GET /a without its parameter "file": its place "formData" is unknown',
    'GET /a without its parameter "nowhere": its place "undefined" is unknown',
  ])
})

test('arguments have the characters and the length that model APIs accept', () => {
  const operationAt = (parameters: unknown[]) =>
    parseOpenApi({ openapi: '3.1.0', paths: { '/a': { get: { parameters } } } })[0] as Operation
  const own = ['page[size]', '$top', 'StartTime', 'StartTime<', 'StartTime>', 'page_size', '名前', '犬', '_id']
  const long = 'n'.repeat(70)
  const names = [...own, long, `${long}2`, `${long}3`]
  const parameters = names.map((name) => parameter('query', name, { description: 'Text' }))
  const operation = operationAt(parameters)
  const places = Object.entries(operation.parameters).map(([argument, { name }]) => [argument, name])
  expect(places).toEqual([
    ['page_size', 'page[size]'],
    ['top', '$top'],
    ['StartTime', 'StartTime'],
    ['query_StartTime', 'StartTime<'],
    ['query_StartTime_2', 'StartTime>'],
    ['query_page_size', 'page_size'],
    ['parameter', '名前'],
    ['query_parameter', '犬'],
    ['_id', '_id'],
    ['n'.repeat(64), long],
    [`query_${'n'.repeat(58)}`, `${long}2`],
    [`query_${'n'.repeat(56)}_2`, `${long}3`],
  ])
  const { properties } = operation.input as { properties: Record<string, Json> }
  expect(Object.keys(properties)).toEqual(places.map(([argument]) => argument))
  expect(properties.StartTime).toMatchObject({ description: 'Text' })
  expect(properties.query_StartTime).toMatchObject({ description: 'Text (the parameter "StartTime<" of the API)' })
  expect(operationAt([parameter('query', '$top')]).input.properties).toMatchObject({
    top: { description: 'The parameter "$top" of the API' },
  })
})

test.each<[what: string, path: string, operation: Json, left: string]>([
  ['a path with a fragment', '/#Action=Add', {}, 'POST /#Action=Add, whose path has a "#": nothing after it is sent'],
  [
    'a header with an invalid name',
    '/a',
    { parameters: [parameter('header', 'X A:')] },
    'POST /a without its parameter "X A:": no header can have that name',
  ],
  [
    'a body of JSON text sequences',
    '/a',
    { requestBody: { required: true, content: { 'application/json-seq': { schema: {} } } } },
    'POST /a, whose body is neither JSON nor a supported form but application/json-seq',
  ],
  [
    'an optional body that cannot be sent',
    '/a',
    { requestBody: { content: { 'text/csv': {}, 'image/png': {} } } },
    'POST /a, whose body is neither JSON nor a supported form but text/csv, image/png',
  ],
  [
    'a form without an object',
    '/a',
    { requestBody: { content: { 'multipart/form-data': { schema: { type: 'string' } } } } },
    'POST /a, whose body is neither JSON nor a supported form but multipart/form-data',
  ],
  [
    'a form with an object of the style form',
    '/a',
    {
      requestBody: {
        content: {
          'application/x-www-form-urlencoded': {
            schema: { type: 'object', properties: { a: { type: 'object' } } },
            encoding: { a: { style: 'form' } },
          },
        },
      },
    },
    'POST /a, whose body is neither JSON nor a supported form but application/x-www-form-urlencoded',
  ],
])('%s is left out', (_, path, operation, sentence) => {
  const left: string[] = []
  const paths = { [path]: { post: { operationId: 'a', ...operation } } }
  const found = parseOpenApi({ openapi: '3.1.0', paths }, { onSkipped: (text) => left.push(text) })
  expect(left).toEqual([sentence])
  expect(found.flatMap(({ parameters }) => Object.keys(parameters))).toEqual([])
  expect(found).toHaveLength(sentence.includes('without') ? 1 : 0)
})

test('alternatives with a discriminator may overlap', () => {
  const kind = { type: 'object', required: ['kind'], properties: { kind: { type: 'string' } } }
  const Pet = {
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
    discriminator: { propertyName: 'kind' },
  }
  const document = { components: { schemas: { Pet, Cat: kind, Dog: kind } } }
  const { isValid } = posting({ $ref: '#/components/schemas/Pet' }, document)
  expect([isValid({ kind: 'Cat' }), isValid({}), isValid('Cat')]).toEqual([true, false, false])
  const strict = posting({ oneOf: [{ type: 'integer' }, { type: 'number' }] })
  expect([strict.isValid(1), strict.isValid(1.5)]).toEqual([false, true])
})

describe.each(['3.0.3', '3.1.0'])('a schema whose alternatives extend it, in OpenAPI %s,', (openapi) => {
  const text = { type: 'string' }
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const discriminator = { propertyName: 'kind' }
  const base = (...names: string[]) => ({
    type: 'object',
    required: ['kind'],
    properties: { kind: text },
    oneOf: names.map(ref),
    discriminator,
  })
  const subtype = (kind: string, member: string, ...bases: Json[]) => ({
    allOf: [...bases, { properties: { kind: { enum: [kind] }, [member]: { type: 'integer' } }, required: [member] }],
  })
  const simple = {
    Pet: base('Cat', 'Dog'),
    Cat: subtype('cat', 'lives', ref('Pet')),
    Dog: subtype('dog', 'tricks', ref('Pet')),
  }
  const cat = { kind: 'cat', lives: 9 }
  const dog = { kind: 'dog', tricks: 1 }
  const anyone = [{ kind: 'cat' }, { lives: 9 }, { kind: 'dog', lives: 9 }]

  test.each<[what: string, schemas: Json, body: Json, valid: Json[], invalid: Json[]]>([
    ['is the body', simple, ref('Pet'), [cat, dog], anyone],
    ['is the base of the body', simple, ref('Cat'), [cat], [...anyone, dog]],
    [
      'is in the body twice',
      simple,
      { properties: { one: ref('Cat'), all: { type: 'array', items: ref('Pet') } } },
      [{ one: cat, all: [cat, dog] }],
      [{ one: dog }, ...anyone.map((each) => ({ all: [each] }))],
    ],
    [
      'has another name there',
      {
        Pet: base('Cat', 'Dog'),
        Animal: ref('Pet'),
        Cat: subtype('cat', 'lives', ref('Animal')),
        Dog: subtype('dog', 'tricks', { allOf: [ref('Animal')] }),
      },
      ref('Animal'),
      [cat, dog],
      anyone,
    ],
    [
      'has alternatives in groups',
      { ...simple, Pet: { ...base(), oneOf: [{ anyOf: [ref('Cat')] }, { allOf: [ref('Dog')] }] } },
      ref('Pet'),
      [cat, dog],
      anyone,
    ],
    [
      'has alternatives in groups, of which the body is one',
      { ...simple, Pet: { ...base(), oneOf: [{ allOf: [ref('Dog')] }] } },
      ref('Dog'),
      [dog],
      anyone,
    ],
    [
      'has an alternative with alternatives',
      {
        Pet: base('Cat', 'Dog'),
        Dog: simple.Dog,
        Cat: { ...simple.Cat, anyOf: [ref('Persian'), ref('Siamese')] },
        Persian: { allOf: [ref('Cat'), { required: ['hair'] }] },
        Siamese: { allOf: [ref('Cat'), { required: ['voice'] }] },
      },
      ref('Pet'),
      [dog, { ...cat, hair: 1 }, { ...cat, voice: 1 }],
      [...anyone, cat],
    ],
  ])('%s', (_, schemas, body, valid, invalid) => {
    const { isValid } = posting(body, { components: { schemas } }, openapi)
    expect(valid.map(isValid)).toEqual(valid.map(() => true))
    expect(invalid.map(isValid)).toEqual(invalid.map(() => false))
  })

  test('has one definition for all that extend it', () => {
    const { input } = posting(ref('Pet'), { components: { schemas: simple } }, openapi)
    expect(Object.keys(input.$defs as Json)).toEqual(['Pet', 'Cat', 'Pet_2', 'Dog'])
  })
})

test('a schema that is extended by its alternative beside a reference', () => {
  const Pet = { required: ['kind'], oneOf: [{ $ref: '#/components/schemas/Cat' }] }
  const Cat = { $ref: '#/components/schemas/Pet', required: ['lives'] }
  const { isValid } = posting({ $ref: '#/components/schemas/Pet' }, { components: { schemas: { Pet, Cat } } })
  expect([{ kind: 'cat', lives: 9 }, { kind: 'cat' }, { lives: 9 }].map(isValid)).toEqual([true, false, false])
})

test('a pattern of another language is left out, and the rest of the document has tools', () => {
  const left: string[] = []
  const code = { type: 'string', pattern: '(?i)^[a-z]+$', maxLength: 3 }
  const parameters = [
    parameter('query', 'code', { schema: code }),
    parameter('query', 'id', { schema: { pattern: '^[\\w-.]+$' } }),
  ]
  const paths = { '/a': { get: { operationId: 'a', parameters } } }
  const list = parseOpenApi({ openapi: '3.1.0', paths }, { onSkipped: (sentence) => left.push(sentence) })
  expect(list).toMatchObject([{ input: { properties: { code: { maxLength: 3 }, id: { pattern: '^[\\w-.]+$' } } } }])
  expect(JSON.stringify(list)).not.toContain('(?i)')
  expect(left).toEqual(['GET /a without the pattern "(?i)^[a-z]+$", which is no regular expression of JavaScript'])
  expect(() => newServer().use(openApiTools(list, { baseUrl: 'https://api.example' }))).not.toThrow()
})

test('a pattern that may take long to match is left out', () => {
  const left: string[] = []
  const parameters = [parameter('query', 'q', { schema: { pattern: '(?=.*a).*b' } })]
  const paths = { '/a': { get: { operationId: 'a', parameters } } }
  const list = parseOpenApi({ openapi: '3.1.0', paths }, { onSkipped: (sentence) => left.push(sentence) })
  expect(list).toMatchObject([{ input: { properties: { q: {} } } }])
  expect(left).toEqual(['GET /a without the pattern "(?=.*a).*b", which may take long to match'])
})

test.each<[what: string, schema: Json, problem: string]>([
  [
    'a keyword with a wrong value',
    { minLength: 'auto' },
    'is not a valid JSON Schema: expected a whole number of 0 or more at #/properties/body/minLength, found "auto"',
  ],
  [
    'a property that is no schema',
    { properties: { a: 'text' } },
    'is not a valid JSON Schema: expected a schema (an object, true or false) at #/properties/body/properties, found "text"',
  ],
  [
    'an invalid pattern of names',
    { patternProperties: { '(': {} } },
    'is not a valid JSON Schema: expected a regular expression at #/properties/body/patternProperties, found "("',
  ],
  ['a value that JSON does not have', { default: Number.NaN }, 'has NaN at properties.body.default'],
])('an operation whose schema has %s is left out, and the rest of the document has tools', (_, schema, problem) => {
  const left: string[] = []
  const paths = {
    '/a': { get: { operationId: 'a' }, post: { operationId: 'b', requestBody: json(schema) } },
    '/c': { get: { operationId: 'c' } },
  }
  const list = parseOpenApi({ openapi: '3.1.0', paths }, { onSkipped: (sentence) => left.push(sentence) })
  expect(list.map(({ name }) => name)).toEqual(['a', 'c'])
  expect(left).toEqual([expect.stringContaining(`POST /a, because the schema of its arguments ${problem}`)])
  expect(() => newServer().use(openApiTools(list, { baseUrl: 'https://api.example' }))).not.toThrow()
})

test('servers of a path or an operation are reported, if they are not those of the document', () => {
  const left: string[] = []
  const servers = [{ url: 'https://api.example' }]
  const uploads = [{ url: 'https://uploads.example/{v}', variables: { v: { default: '1' } } }]
  const paths = {
    '/a': { get: { servers }, post: { servers: uploads } },
    '/b': { servers: uploads, get: {}, put: { servers } },
    '/c': { get: { servers: [] } },
  }
  parseOpenApi({ openapi: '3.1.0', servers, paths }, { onSkipped: (sentence) => left.push(sentence) })
  const sentence = (where: string) => `${where} without its own servers: requests go to baseUrl`
  expect(left).toEqual(['POST /a', 'GET /b'].map(sentence))
})

describe('a parameter of an operation replaces that of its path', () => {
  const objects = { style: 'deepObject', schema: { type: 'object' } }
  test.each<[what: string, shared: Json, own: Json, found: Json, required: string[]]>([
    ['that was required', { required: true }, {}, { type: 'string' }, []],
    ['that is required', {}, { required: true }, {}, ['q']],
    ['that was not supported', { ...objects, required: true }, {}, {}, []],
    ['with a description', { description: 'Of the path' }, { schema: { type: 'integer' } }, { type: 'integer' }, []],
  ])('%s', (_, shared, own, found, required) => {
    const left: string[] = []
    const operation = { operationId: 'a', parameters: [parameter('query', 'q', own)] }
    const paths = { '/a': { parameters: [parameter('query', 'q', shared)], get: operation } }
    const all = parseOpenApi({ openapi: '3.1.0', paths }, { onSkipped: (sentence) => left.push(sentence) })
    expect(left).toEqual([])
    expect(all).toMatchObject([{ input: { required, properties: { q: found } } }])
    expect(JSON.stringify(all)).not.toContain('Of the path')
  })

  test('with one that is not supported', () => {
    const operation = { operationId: 'a', parameters: [parameter('query', 'q', objects)] }
    const paths = { '/a': { parameters: [parameter('query', 'q')], get: operation } }
    expect(parseOpenApi({ openapi: '3.1.0', paths }).map(({ parameters }) => parameters)).toEqual([{}])
  })
})

test('a path parameter that is not in the path is left out', () => {
  const onSkipped: string[] = []
  const parameters = [parameter('path', 'id'), parameter('path', 'other')]
  const document = { openapi: '3.1.0', paths: { '/a/{id}': { get: { operationId: 'a', parameters } } } }
  const [operation] = parseOpenApi(document, { onSkipped: (sentence) => onSkipped.push(sentence) })
  expect(operation?.input).toMatchObject({ properties: { id: {} }, required: ['id'] })
  expect(Object.keys(operation?.parameters ?? {})).toEqual(['id'])
  expect(onSkipped).toEqual(['GET /a/{id} without its parameter "other": its path has no {other}'])
})

describe.each(['get', 'head'])('a body of %s, which cannot be sent,', (method) => {
  const found = (requestBody: unknown) => {
    const onSkipped: string[] = []
    const document = { openapi: '3.1.0', paths: { '/a': { [method]: { operationId: 'a', requestBody } } } }
    const all = parseOpenApi(document, { onSkipped: (sentence) => onSkipped.push(sentence) })
    return { all, onSkipped }
  }
  const where = `${method.toUpperCase()} /a`

  test('is not an argument', () => {
    const { all, onSkipped } = found(json({ type: 'object' }, false))
    expect(all).toMatchObject([{ hasBody: false, input: { properties: {} } }])
    expect(onSkipped).toEqual([`${where} without its body, because a request of this method cannot have one`])
  })

  test('excludes the operation when it is required', () => {
    const { all, onSkipped } = found(json({ type: 'object' }))
    expect(all).toEqual([])
    expect(onSkipped).toEqual([`${where}, because a request of this method cannot have a body`])
  })
})

describe('an operation without a document', () => {
  const written = (more: Partial<Operation>): Operation => ({
    name: 'a',
    description: 'd',
    method: 'POST',
    path: '/a',
    parameters: {},
    hasBody: false,
    input: { type: 'object', properties: {} },
    annotations: {},
    ...more,
  })
  test.each<[string, Partial<Operation>, string]>([
    [
      'two arguments for one place',
      { parameters: { one: { in: 'header', name: 'X-A' }, two: { in: 'header', name: 'x-a' } } },
      'openApiTools(): the arguments "one" and "two" of "a" would both be sent as the header "x-a": leave one out',
    ],
    [
      'an argument for a parameter and the body',
      { hasBody: true, parameters: { body: { in: 'query', name: 'body' } } },
      'openApiTools(): the argument "body" of "a" is its body and the query parameter "body": give the parameter another argument',
    ],
    [
      'an argument that has no place',
      { path: '/a/{id}', input: { type: 'object', properties: { id: {}, lost: {} } } },
      'openApiTools(): the argument "lost" of "a" is never sent: add it to "parameters", or set hasBody for "body"',
    ],
    [
      'the argument "body" and no body',
      { input: { type: 'object', properties: { body: {} } } },
      'openApiTools(): the argument "body" of "a" is never sent: add it to "parameters", or set hasBody for "body"',
    ],
    [
      'a parameter of another path',
      { parameters: { id: { in: 'path', name: 'id' } } },
      'openApiTools(): the argument "id" of "a" is never sent: its path "/a" has no {id}',
    ],
    [
      'an argument in a cookie',
      { parameters: { session: { in: 'cookie', name: 'sid' } as never } },
      'openApiTools(): the argument "session" of "a" is a cookie, which only the server may set: leave it out, and send it by "headers"',
    ],
    [
      'an argument in an unknown place',
      { parameters: { id: { in: 'formData', name: 'id' } as never } },
      'openApiTools(): the argument "id" of "a" is in "formData": write "path", "query", "querystring" or "header"',
    ],
    [
      'an argument without a name in the request',
      { parameters: { id: { in: 'query' } as never } },
      'openApiTools(): the argument "id" of "a" has no name in the request: add "name"',
    ],
    [
      'a header that has no valid name',
      { parameters: { a: { in: 'header', name: 'X A:' } } },
      'openApiTools(): the argument "a" of "a" is never sent: no header can have the name "X A:"',
    ],
    [
      'a path with a fragment',
      { path: '/#Action=Add' },
      'openApiTools(): the path "/#Action=Add" of "a" must have no "#": nothing after it is sent',
    ],
    [
      'a body that cannot be sent',
      { method: 'get', hasBody: true },
      'openApiTools(): "a" has a body, which a GET request cannot have: set hasBody to false, or use another method',
    ],
  ])('with %s is refused', (_, more, problem) => {
    expect(() => newServer().use(openApiTools([written(more)], { baseUrl: 'https://api.example' }))).toThrow(problem)
  })
})
