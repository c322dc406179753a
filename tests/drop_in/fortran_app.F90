! A program in Fortran that knows nothing of cohom, by the binding that BINDING names: 1 mpif.h,
! 2 use mpi, 3 use mpi_f08. Its argument is a tolerance, of a sum's norm. Rank 0 prints how many
! calls of MPI_Allreduce each rank made.
program fortran_app
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer, parameter :: elements = 100003
  real, allocatable :: input(:), output(:)
  double precision, allocatable :: doubles(:)
  integer :: ierror, rank, ranks, i, own, total
  real :: tolerance
  character(len=20) :: argument

  call get_command_argument(1, argument)
  read (argument, *) tolerance
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate (input(elements), output(elements), doubles(elements))
  input = [(real(mod(i, 100)), i = 1, elements)]
  doubles = input
  tolerance = tolerance * ranks * norm2(input)

  call MPI_Allreduce(input, output, elements, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (.not. norm2(output - ranks * input) <= tolerance) call wrong('MPI_REAL')
  output = input
  call MPI_Allreduce(MPI_IN_PLACE, output, elements, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (.not. norm2(output - ranks * input) <= tolerance) call wrong('MPI_IN_PLACE')
#if BINDING == 3
  call MPI_Allreduce(MPI_IN_PLACE, doubles, elements, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
#else
  call MPI_Allreduce(MPI_IN_PLACE, doubles, elements, MPI_DOUBLE_PRECISION, MPI_SUM, &
                     MPI_COMM_WORLD, ierror)
#endif
  if (.not. norm2(doubles - ranks * input) <= tolerance) call wrong('MPI_DOUBLE_PRECISION')
  own = rank
  call MPI_Allreduce(own, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (total /= ranks - 1) call wrong('MPI_MAX')
  if (rank == 0) print '(a)', 'calls 4'
  call MPI_Finalize(ierror)

contains

  subroutine wrong(what)
    character(len=*), intent(in) :: what
    print *, 'fortran_app: ', what, ' is wrong'
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
