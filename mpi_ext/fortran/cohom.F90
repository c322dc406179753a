! The module cohom: compressed reductions and their plans, for Fortran. Compile it with the program,
! as modules of Fortran fit one compiler alone. Handles are the integers of mpif.h and `use mpi`; of
! mpi_f08 pass comm%MPI_VAL and the like. What arguments mean is in <cohom/mpix.h>; errors are MPI's
! codes, after the communicator's error handler. Vectors are contiguous.
module cohom
  use, intrinsic :: iso_c_binding, only: c_null_ptr, c_ptr
  implicit none
  private

  ! A plan for repeated calls; it keeps the codec's state between them.
  type, bind(C), public :: cohom_plan
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  public :: cohom_allreduce, cohom_reduce_scatter_block, cohom_reduce, cohom_allgather, &
            cohom_plan_create, cohom_reduce_scatter_block_plan_create, &
            cohom_reduce_plan_create, cohom_allgather_plan_create, cohom_plan_execute, &
            cohom_plan_start, cohom_plan_wait, cohom_plan_reset_state, cohom_plan_free

  interface
    ! recvbuf := the sum over all ranks of sendbuf, or of recvbuf where that is MPI_IN_PLACE.
    ! MPI_REAL or MPI_DOUBLE_PRECISION, MPI_SUM; the codec is the Info key cohom_codec. Collective.
    subroutine cohom_allreduce(sendbuf, recvbuf, count, datatype, op, comm, info, ierror) &
        bind(C, name='cohom_fortran_allreduce')
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, value :: count, datatype, op, comm, info
      integer, intent(out), optional :: ierror
    end subroutine

    ! recvbuf := part r, on rank r, of the sum of sendbuf, which has as many parts of recvcount
    ! elements as there are ranks; where that is MPI_IN_PLACE, of recvbuf, which has them all.
    ! Collective.
    subroutine cohom_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm, info, &
                                          ierror) &
        bind(C, name='cohom_fortran_reduce_scatter_block')
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, value :: recvcount, datatype, op, comm, info
      integer, intent(out), optional :: ierror
    end subroutine

    ! recvbuf on rank root := the sum over all ranks of sendbuf, which may be MPI_IN_PLACE there.
    ! Collective.
    subroutine cohom_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, info, ierror) &
        bind(C, name='cohom_fortran_reduce')
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, value :: count, datatype, op, root, comm, info
      integer, intent(out), optional :: ierror
    end subroutine

    ! recvbuf := the parts of all ranks, in the order of ranks: sendbuf of each, or where that is
    ! MPI_IN_PLACE what recvbuf has of its part already. Collective.
    subroutine cohom_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                               info, ierror) &
        bind(C, name='cohom_fortran_allgather')
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, value :: sendcount, sendtype, recvcount, recvtype, comm, info
      integer, intent(out), optional :: ierror
    end subroutine

    ! Collective.
    subroutine cohom_plan_create(count, datatype, op, comm, info, plan, ierror) &
        bind(C, name='cohom_fortran_plan_create')
      import :: cohom_plan
      integer, value :: count, datatype, op, comm, info
      type(cohom_plan), intent(in out) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    ! Of calls of cohom_reduce_scatter_block. Collective.
    subroutine cohom_reduce_scatter_block_plan_create(recvcount, datatype, op, comm, info, plan, &
                                                      ierror) &
        bind(C, name='cohom_fortran_reduce_scatter_block_plan_create')
      import :: cohom_plan
      integer, value :: recvcount, datatype, op, comm, info
      type(cohom_plan), intent(in out) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    ! Of calls of cohom_reduce. Collective.
    subroutine cohom_reduce_plan_create(count, datatype, op, root, comm, info, plan, ierror) &
        bind(C, name='cohom_fortran_reduce_plan_create')
      import :: cohom_plan
      integer, value :: count, datatype, op, root, comm, info
      type(cohom_plan), intent(in out) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    ! Of calls of cohom_allgather, in which each rank sends count elements. Collective.
    subroutine cohom_allgather_plan_create(count, datatype, comm, info, plan, ierror) &
        bind(C, name='cohom_fortran_allgather_plan_create')
      import :: cohom_plan
      integer, value :: count, datatype, comm, info
      type(cohom_plan), intent(in out) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    ! A call, from its start to its end. Collective.
    subroutine cohom_plan_execute(plan, sendbuf, recvbuf, ierror) &
        bind(C, name='cohom_fortran_plan_execute')
      import :: cohom_plan
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(cohom_plan), intent(in) :: plan
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, intent(out), optional :: ierror
    end subroutine

    ! The start of a call alone: the buffers, asynchronous ones, stay untouched until
    ! cohom_plan_wait. Collective.
    subroutine cohom_plan_start(plan, sendbuf, recvbuf, ierror) &
        bind(C, name='cohom_fortran_plan_start')
      import :: cohom_plan
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
      !DIR$ IGNORE_TKR sendbuf, recvbuf
      type(cohom_plan), intent(in) :: plan
      type(*), dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(out), optional :: ierror
    end subroutine

    subroutine cohom_plan_wait(plan, ierror) bind(C, name='cohom_fortran_plan_wait')
      import :: cohom_plan
      type(cohom_plan), intent(in) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    ! The state of codecs with feedback is as after the plan was made.
    subroutine cohom_plan_reset_state(plan, ierror) &
        bind(C, name='cohom_fortran_plan_reset_state')
      import :: cohom_plan
      type(cohom_plan), intent(in) :: plan
      integer, intent(out), optional :: ierror
    end subroutine

    subroutine cohom_plan_free(plan, ierror) bind(C, name='cohom_fortran_plan_free')
      import :: cohom_plan
      type(cohom_plan), intent(in out) :: plan
      integer, intent(out), optional :: ierror
    end subroutine
  end interface
end module
