! mpif90 PREFIX/include/cohom/cohom.F90 allreduce.F90 $(pkg-config --libs cohom-mpi)
! mpirun -n 4 ./a.out
program allreduce
  use mpi
  use cohom
  implicit none
  integer, parameter :: elements = 1000000
  real :: gradient(elements)
  double precision :: sums(elements)
  integer :: i, ierror, info, rank
  type(cohom_plan) :: plan

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, 'cohom_codec', 'thc', ierror)
  gradient = [(mod(i, 7) + rank, i = 0, elements - 1)]
  call cohom_allreduce(MPI_IN_PLACE, gradient, elements, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, info)
  if (rank == 0) print '(a, 3f7.2)', 'sum:', gradient(1:3)

  ! A plan for calls that come again and again.
  call MPI_Info_set(info, 'cohom_codec', 'exact', ierror)
  call cohom_plan_create(elements, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, info, plan)
  sums = rank + 0.5d0
  do i = 1, 3
    call cohom_plan_execute(plan, MPI_IN_PLACE, sums)
  end do
  call cohom_plan_free(plan)
  call MPI_Info_free(info, ierror)
  if (rank == 0) print '(a, f12.2)', 'sums of sums:', sums(elements)
  call MPI_Finalize(ierror)
end program
