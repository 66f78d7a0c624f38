/** Lets `vi.waitFor` wait as long as `expect.poll` does. Vitest has an option for the one, but not for the other. */
import { vi } from 'vitest'

/** By default it is one second, which is too short for a busy machine. */
const timeoutMs = 30_000

type Patient = typeof vi.waitFor & { isPatient?: true }

if (!(vi.waitFor as Patient).isPatient) {
  const { waitFor } = vi
  const patient: Patient = (check, options = timeoutMs) =>
    waitFor(check, typeof options === 'number' ? options : { timeout: timeoutMs, ...options })
  patient.isPatient = true
  vi.waitFor = patient
}
