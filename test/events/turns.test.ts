import { expect, test } from 'vitest'
import { Turns } from '../../durable-objects/events/turns.ts'

test('callers have their pages in turn, also after one that fails', async () => {
  const turns = new Turns()
  const read: string[] = []
  const take = (caller: string, name: string) =>
    turns.take(caller, () => {
      read.push(name)
      if (name === 'many 2') throw new Error('fails')
      return { characters: 200_000, name }
    })
  const pages = await Promise.allSettled([
    take('many', 'many 1'),
    take('many', 'many 2'),
    take('many', 'many 3'),
    take('few', 'few 1'),
    take('other', 'other 1'),
  ])
  expect(read).toEqual(['many 1', 'few 1', 'other 1', 'many 2', 'many 3'])
  expect(pages.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(await take('few', 'few 2')).toMatchObject({ name: 'few 2' })
})

test('other work goes on after as much as a page has', async () => {
  const turns = new Turns()
  let isRead = 0
  const take = (characters: number) =>
    turns.take('one', () => {
      isRead += 1
      return { characters }
    })
  const pages = [take(100_000), take(100_000), take(100_000), take(100_000)]
  await pages[0]
  const afterFirst = isRead
  await Promise.all(pages)
  expect([afterFirst, isRead]).toEqual([3, 4])
})
